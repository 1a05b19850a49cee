import DequeModule
import Testing
import WebSocketCore
import WebSocketRuntime

/// Callbacks that report whether the messages before them were written.
@Suite struct OutboundMarksTests {
    private let queue = OutboundQueue(capacity: 96) {}
    private let reported = LockedValue<[String]>([])

    private func ask(_ name: String) {
        queue.whenWritten { [reported] isWritten in reported.withLockedValue { $0.append("\(name) \(isWritten)") } }
    }

    private var answers: [String] { reported.withLockedValue(\.self) }

    /// The marks that were taken, with the number of messages before each.
    private func marks() -> [(before: Int, mark: UInt64)] {
        var (marks, count) = ([(before: Int, mark: UInt64)](), 0)
        for entry in queue.take(upTo: .max) {
            if case .mark(let mark) = entry { marks.append((count, mark)) } else { count += 1 }
        }
        return marks
    }

    @Test func `a mark comes after all earlier messages and before later ones`() throws {
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

    @Test func `a later mark includes all earlier ones, and each callback runs once`() {
        ask("a")
        ask("b")
        let marks = marks()
        queue.wrote(marks[1].mark)
        queue.wrote(marks[0].mark)
        queue.finishMarks()
        #expect(answers == ["a true", "b true"])
    }

    @Test func `messages that a lost link discards are not written, and later reports are ignored`() throws {
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

    @Test func `after the last message a callback can still be added`() throws {
        #expect(try queue.offer(numbered(1)))
        queue.finish(TransportError(.closed, "over"), discarding: false)
        ask("a")
        queue.wrote(marks()[0].mark)
        #expect(answers == ["a true"])
        ask("b")
        queue.finishMarks()
        #expect(answers == ["a true", "b false"])
    }

    @Test func `a mark must be taken, but is not a waiting message`() throws {
        ask("a")
        #expect(!queue.awaitWork())
        #expect(!queue.isIdle, "a message that bypasses the queue would overtake it")
        #expect(marks().count == 1)
        #expect(try queue.offer(numbered(1)))
        #expect(queue.awaitWork())
    }
}
