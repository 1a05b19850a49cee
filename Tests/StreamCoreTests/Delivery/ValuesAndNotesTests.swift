import HoldfastTesting
import MachineCore
import StreamCore
import Testing

@Suite struct ValuesAndNotesTests {
    typealias Line = ValuesAndNotes<Int, Character>

    /// The remaining items: values, gaps as negative counts, notes as 0.
    private func rest(_ line: inout Line) -> [Int] {
        var taken: [Int] = []
        while let item = line.take(at: .start) { taken.append(item.number) }
        return taken
    }
    private func line(_ capacity: Int, _ excess: Line.Excess, _ values: ClosedRange<Int>) -> Line {
        var line = Line(capacity: capacity, excess)
        for value in values { line.push(.value(value), at: .start) }
        return line
    }

    @Test func `the oldest values are dropped, and counted before the others`() {
        var line = line(3, .dropOldest, 1...10)
        #expect(line.pending == 4 && !line.isFull)
        #expect(rest(&line) == [-7, 8, 9, 10])
        line.push(.value(11), at: .start)
        #expect(rest(&line) == [11] && line.deadline == nil)
    }

    @Test func `the newest values are dropped, and counted after the others`() {
        var line = line(2, .dropNewest, 1...5)
        #expect(line.take(at: .start)?.number == 1)
        line.push(.value(6), at: .start)
        #expect(rest(&line) == [2, -3, 6])
    }

    @Test func `an unbounded buffer accepts notes`() {
        var line = line(.max, .dropNewest, 1...2)
        line.push(.note("!"), at: .start)
        #expect(rest(&line) == [1, 2, 0])
    }

    @Test func `values dropped last are counted although no value follows`() {
        var line = line(1, .dropNewest, 1...3)
        #expect(rest(&line) == [1, -2] && line.pending == 0)
    }

    @Test func `a buffer that refuses stays full and keeps its values`() {
        var line = line(2, .refuse, 1...2)
        #expect(!line.isFull)
        line.push(.note("a"), at: .start)
        #expect(!line.isFull)
        line.push(.value(3), at: .start)
        #expect(line.isFull && rest(&line) == [1, 2, 0])
        line.push(.value(4), at: .start)
        line.push(.note("b"), at: .start)
        #expect(line.isFull && line.pending == 0)
    }

    @Test func `notes of dropped values are dropped too, and do not accumulate`() {
        var line = Line(capacity: 2, .dropOldest)
        for value in 1...3 {
            line.push(.note("a"), at: .start)
            line.push(.value(value), at: .start)
        }
        #expect(rest(&line) == [-1, 0, 2, 3])
        for _ in 0..<100 { line.push(.note("a"), at: .start) }
        #expect(line.pending == 4)
    }

    @Test func `a gap comes before a later note`() {
        var line = line(2, .dropNewest, 1...3)
        line.push(.note("a"), at: .start)
        #expect(rest(&line) == [1, 2, -1, 0])
    }

    /// Taken and counted values together are all pushed values in order.
    @Test(arguments: 0..<100 as Range<UInt64>) func `every value is taken or counted at its position`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let capacity = Int.random(in: 1...5, using: &random)
        var line = Line(capacity: capacity, seed % 2 == 0 ? .dropOldest : .dropNewest)
        var (pushed, seen) = (0, 0)
        func take() {
            guard let number = line.take(at: .start)?.number else { return }
            if number > 0 { #expect(number == seen + 1) }
            seen += abs(number.signum() > 0 ? 1 : number)
        }
        for _ in 0..<500 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                pushed += 1
                line.push(.value(pushed), at: .start)
            case 2: line.push(.note("a"), at: .start)
            default: take()
            }
            #expect((line.deadline == nil) == (line.pending == 0) && line.pending <= 4 * capacity + 2)
        }
        while line.pending > 0 { take() }
        #expect(seen == pushed && line.counts.received == pushed && line.counts.delivered + line.counts.dropped == pushed)
    }
}

extension ValuesAndNotes.Item where Content == Int {
    fileprivate var number: Int {
        switch self {
        case .value(let value): value
        case .dropped(let count): -count
        case .note: 0
        }
    }
}
