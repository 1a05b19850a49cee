import MachineCore
import QuotesCore
import Testing

@Suite struct ChangeListTests {
    @Test func `each index is listed once, in the order of its first change`() {
        var list = ChangeList()
        #expect([3, 1, 3, 2, 1].map { list.note($0) } == [true, true, false, true, false])
        #expect(list.count == 3)
        #expect((0..<4).map { _ in list.popFirst() } == [3, 1, 2, nil])
        #expect(list.isEmpty)
    }

    @Test func `an index that was taken is added at the end`() {
        var list = ChangeList()
        for place in [0, 1] { list.note(place) }
        #expect(list.popFirst() == 0)
        list.note(0)
        #expect([list.popFirst(), list.popFirst()] == [1, 0])
    }

    @Test func `any sequence of notes and takes gives the same as a plain list`() {
        var random = SplitMix64(seed: 6)
        var list = ChangeList()
        var plain: [Int] = []
        for _ in 0..<50_000 {
            if Int.random(in: 0..<3, using: &random) > 0 {
                let place = Int.random(in: 0..<3000, using: &random)
                #expect(list.note(place) == !plain.contains(place))
                if !plain.contains(place) { plain.append(place) }
            } else {
                #expect(list.popFirst() == (plain.isEmpty ? nil : plain.removeFirst()))
            }
            #expect(list.count == plain.count)
        }
        list.removeAll()
        #expect(list.isEmpty && list.note(7))
    }
}
