import HoldfastTesting
import MachineCore
import ProtocolCore
import Testing

@Suite struct PendingRequestsTests {
    private var requests = PendingRequests<Int, String>(limit: 3)

    private mutating func sendAll(within window: Int = .max) -> [Int] {
        var ids: [Int] = []
        while let next = requests.next(within: window) { ids.append(next.id) }
        return ids
    }

    @Test mutating func `requests are sent once in order, and end once`() {
        #expect(requests.add(1, "a") && requests.add(2, "b"))
        #expect(sendAll() == [1, 2] && sendAll() == [])
        #expect(requests.end(1)?.request == "a")
        #expect(requests.end(1) == nil && requests[1] == nil && requests[2] == "b" && requests.count == 1)
    }

    @Test mutating func `the window limits the requests in flight`() {
        for id in 1...3 { #expect(requests.add(id, "") == true) }
        #expect(sendAll(within: 2) == [1, 2])
        _ = requests.end(1)
        #expect(sendAll(within: 2) == [3])
    }

    @Test mutating func `an unsent request that ends does not change the window`() {
        for id in 1...3 { #expect(requests.add(id, "") == true) }
        #expect(sendAll(within: 1) == [1])
        _ = requests.end(3)
        #expect(sendAll(within: 1) == [])
        _ = requests.end(1)
        #expect(sendAll(within: 1) == [2])
    }

    @Test mutating func `requests above the limit and repeated ids are not added`() {
        for id in 1...3 { #expect(requests.add(id, "") == true) }
        #expect(requests.isFull && !requests.add(4, ""))
        _ = requests.end(2)
        #expect(!requests.add(1, "other") && requests[1] == "")
        #expect(requests.add(4, "") == true)
    }

    @Test mutating func `after a loss all requests are sent again in their order`() {
        for id in [5, 1, 3] { #expect(requests.add(id, "") == true) }
        #expect(sendAll(within: 2) == [5, 1])
        requests.lose(unsent: [])
        #expect(sendAll() == [5, 1, 3])
    }

    @Test mutating func `an unsent request has not arrived, unless an earlier connection accepted it`() {
        for id in 1...3 { #expect(requests.add(id, "") == true) }
        #expect(sendAll(within: 2) == [1, 2])
        #expect(requests.all.map(\.mayHaveArrived) == [true, true, false])
        requests.lose(unsent: [2])
        #expect(requests.all.map(\.mayHaveArrived) == [true, false, false])
        _ = sendAll()
        requests.lose(unsent: [1, 2, 3])
        #expect(requests.endAll().map(\.mayHaveArrived) == [true, false, false])
        #expect(requests.count == 0 && sendAll() == [])
    }

    @Test mutating func `an unanswered request is overdue once`() {
        #expect(requests.add(1, "a", due: Moment(.seconds(5))) && requests.add(2, "b", due: Moment(.seconds(3))) && requests.add(3, "c"))
        #expect(requests.deadline == Moment(.seconds(3)))
        #expect(requests.overdue(at: Moment(.seconds(2))) == nil)
        #expect(requests.overdue(at: Moment(.seconds(5)))?.id == 2)
        #expect(requests.overdue(at: Moment(.seconds(5)))?.id == 1)
        #expect(requests.overdue(at: Moment(.seconds(9))) == nil && requests.deadline == nil && requests.count == 1)
    }

    @Test mutating func `an answer removes the deadline`() {
        #expect(requests.add(1, "a", due: Moment(.seconds(5))) == true)
        _ = requests.end(1)
        #expect(requests.deadline == nil)
    }

    @Test mutating func `a request added as sent is not sent again before a loss, and counts in the window`() {
        #expect(requests.add(1, "a") && requests.add(2, "b", isSent: true))
        #expect(requests.all.map(\.mayHaveArrived) == [false, true])
        #expect(sendAll(within: 1) == [] && sendAll(within: 2) == [1])
        requests.lose(unsent: [])
        #expect(sendAll() == [1, 2])
    }

    @Test mutating func `an updated request keeps its position, its deadline and its state`() {
        #expect(requests.add(1, "a", due: Moment(.seconds(5)), isSent: true) && requests.add(2, "b", isSent: true))
        requests.update(1) { $0 += "!" }
        requests.update(3) { _ in Issue.record("this request does not exist") }
        #expect(requests.all.map(\.request) == ["a!", "b"] && requests.all.allSatisfy(\.mayHaveArrived))
        #expect(requests.overdue(at: Moment(.seconds(5)))?.request == "a!")
    }

    @Test mutating func `an answer of another kind does not end a request`() {
        #expect(requests.add(1, "a", due: Moment(.seconds(5)), isSent: true) == true)
        #expect(requests.end(1) { $0 == "b" } == nil)
        #expect(requests[1] == "a" && requests.deadline == Moment(.seconds(5)) && sendAll(within: 1) == [])
        #expect(requests.end(1) { $0 == "a" }?.id == 1 && requests.deadline == nil && requests.count == 0)
    }

    @Test mutating func `ids of requests that end unsent do not accumulate`() {
        for id in 1...100_000 {
            #expect(requests.add(id, "") == true)
            #expect(requests.end(id) != nil)
        }
        #expect(requests.queuedIDs < 100 && sendAll() == [])
    }

    @Test func `two collections are equal if the same requests are pending`() {
        var (one, other) = (PendingRequests<Int, String>(), PendingRequests<Int, String>())
        for id in 1...3 { #expect(one.add(id, "") == true) }
        _ = one.end(1)
        for id in 2...3 { #expect(other.add(id, "") == true) }
        #expect(one == other && one.hashValue == other.hashValue)
        _ = one.next()
        #expect(one != other)
    }

    /// Compares with a plain list.
    @Test(arguments: 1...UInt64(50)) func `random operations give the same results as a plain list`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var requests = PendingRequests<Int, Int>(limit: 8)
        var model: [(id: Int, isSent: Bool, wasSent: Bool)] = []
        for step in 0..<2000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                #expect(requests.add(step, step) == (model.count < 8))
                if model.count < 8 { model.append((step, false, false)) }
            case 2:
                let expected = model.count(where: \.isSent) < 4 ? model.firstIndex { !$0.isSent } : nil
                if let expected { model[expected].isSent = true }
                #expect(requests.next(within: 4)?.id == expected.map { model[$0].id })
            case 3:
                guard let index = model.indices.randomElement(using: &random) else { continue }
                let removed = model.remove(at: index)
                #expect(requests.end(removed.id)?.mayHaveArrived == (removed.isSent || removed.wasSent))
            default:
                let unsent = Set(model.filter { $0.isSent && Bool.random(using: &random) }.map(\.id))
                requests.lose(unsent: unsent)
                for index in model.indices {
                    if model[index].isSent, !unsent.contains(model[index].id) { model[index].wasSent = true }
                    model[index].isSent = false
                }
            }
            #expect(requests.all.map(\.id) == model.map(\.id))
            #expect(requests.all.map(\.mayHaveArrived) == model.map { $0.isSent || $0.wasSent })
        }
    }
}
