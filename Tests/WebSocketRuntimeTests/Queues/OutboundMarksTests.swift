import DequeModule
import Testing
import WebSocketCore
import WebSocketRuntime

/// Who asked what is written, and what they are told.
@Suite struct OutboundMarksTests {
    private let queue = OutboundQueue(capacity: 96) {}
    private let told = LockedValue<[String]>([])

    private func ask(_ name: String) {
        queue.whenWritten { [told] isWritten in told.withLockedValue { $0.append("\(name) \(isWritten)") } }
    }

    private var answers: [String] { told.withLockedValue(\.self) }

    /// The marks that were taken, with the number of messages before each.
    private func marks() -> [(before: Int, mark: UInt64)] {
        var (marks, count) = ([(before: Int, mark: UInt64)](), 0)
        for entry in queue.take(upTo: .max) {
            if case .mark(let mark) = entry { marks.append((count, mark)) } else { count += 1 }
        }
        return marks
    }

    @Test func `a mark stands behind all that was accepted before it, and before the rest`() throws {
        #expect(try queue.offer(numbered(1)))
        ask("a")
        #expect(try queue.offer(numbered(2)))
        ask("b")
        let marks = marks()
        #expect(marks.map(\.before) == [1, 2])
        queue.wrote(marks[0].mark)
        #expect(answers == ["a true"])
        queue.wrote(marks[1].mark)
        #expect(answers == ["a true", "b true"])
    }

    @Test func `what is written later was written after all before it, and nobody is told twice`() {
        ask("a")
        ask("b")
        let marks = marks()
        queue.wrote(marks[1].mark)
        queue.wrote(marks[0].mark)
        queue.finishMarks()
        #expect(answers == ["a true", "b true"])
    }

    @Test func `what a lost link discards is not written, whatever is said later`() throws {
        #expect(try queue.offer(numbered(1)))
        ask("a")
        let marks = marks()
        ask("b")
        queue.finish(TransportError(.lost, "cut"), discarding: true)
        #expect(answers == ["a false", "b false"])
        queue.wrote(marks[0].mark + 10)
        ask("c")
        #expect(answers == ["a false", "b false", "c false"])
    }

    @Test func `after the last message one may still ask what is written`() throws {
        #expect(try queue.offer(numbered(1)))
        queue.finish(TransportError(.closed, "over"), discarding: false)
        ask("a")
        queue.wrote(marks()[0].mark)
        #expect(answers == ["a true"])
        ask("b")
        queue.finishMarks()
        #expect(answers == ["a true", "b false"])
    }

    @Test func `a mark is to be taken, and is no message that waits`() throws {
        ask("a")
        #expect(!queue.awaitWork())
        #expect(!queue.isIdle, "what goes around the queue would come before it")
        #expect(marks().count == 1)
        #expect(try queue.offer(numbered(1)))
        #expect(queue.awaitWork())
    }
}
