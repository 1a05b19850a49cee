import Testing

@testable import HoldfastTool

@Suite struct FlightTests {
    private func flight(depth: Int, sent: Int) -> Flight {
        var flight = Flight(depth: depth)
        for number in 0..<sent { flight.sent(meantFor: .milliseconds(number)) }
        return flight
    }

    @Test func `replies in their turn give the time of their message, round and round`() {
        var flight = Flight(depth: 3)
        for number in 0..<100 {
            flight.sent(meantFor: .milliseconds(number))
            flight.sent(meantFor: .milliseconds(number))
            #expect(flight.received(UInt64(2 * number), mask: .max) == .expected(.milliseconds(number)))
            #expect(flight.received(UInt64(2 * number + 1), mask: .max) == .expected(.milliseconds(number)))
        }
        #expect(flight.isEmpty && flight.passedOver == 0)
    }

    @Test func `there is room for so many`() {
        var flight = flight(depth: 2, sent: 2)
        #expect(!flight.hasRoom)
        _ = flight.received(0, mask: .max)
        #expect(flight.hasRoom)
    }

    @Test func `a number is recognised by what fits into the message`() {
        var flight = Flight(depth: 5)
        for number in 0..<1000 {
            flight.sent(meantFor: .milliseconds(number))
            #expect(flight.received(UInt64(number & 15), mask: 15) == .expected(.milliseconds(number)))
        }
    }

    @Test func `a message without room for a number is taken as the oldest`() {
        var flight = flight(depth: 2, sent: 2)
        #expect(flight.received(0, mask: 0) == .expected(.milliseconds(0)))
        #expect(flight.received(0, mask: 0) == .expected(.milliseconds(1)))
        #expect(flight.received(0, mask: 0) == .unasked)
    }

    @Test func `in whatever order replies come, none is lost, and only the right order is no error`() {
        for order in permutations([0, 1, 2, 3]) {
            var flight = flight(depth: 4, sent: 4)
            let replies = order.map { flight.received(UInt64($0), mask: .max) }
            #expect(flight.isEmpty && flight.passedOver == 0, "\(order)")
            #expect(replies.contains(.disordered) == (order != [0, 1, 2, 3]), "\(order)")
            #expect(!replies.contains(.unasked), "\(order)")
        }
    }

    @Test func `a reply that never comes stays passed over, and the next ones are in order again`() {
        var flight = flight(depth: 4, sent: 4)
        #expect(flight.received(1, mask: .max) == .disordered)
        #expect(flight.received(2, mask: .max) == .expected(.milliseconds(2)))
        #expect(flight.passedOver == 1 && flight.count == 1)
    }

    @Test func `a reply too many is seen and changes nothing`() {
        var flight = flight(depth: 4, sent: 2)
        #expect(flight.received(0, mask: .max) == .expected(.zero))
        let before = flight
        #expect(flight.received(0, mask: .max) == .unasked)
        #expect(flight.received(2, mask: .max) == .unasked)
        #expect(flight == before)
    }

    @Test func `what is no echo answers the oldest message, if there is one`() {
        var flight = flight(depth: 4, sent: 1)
        flight.receivedOther()
        #expect(flight.isEmpty)
        flight.receivedOther()
        #expect(flight.isEmpty && flight.next == 1)
    }

    private func permutations(_ values: [Int]) -> [[Int]] {
        guard let last = values.last else { return [[]] }
        return permutations(values.dropLast()).flatMap { shorter in
            (0...shorter.count).map { index in shorter[..<index] + [last] + shorter[index...] }
        }
    }
}
