import HoldfastTesting
@testable import HoldfastWAMP
import StreamCore
import Testing
import WAMPCore
import WebSocketRuntime

/// `ValuesAndNotesTests` has the rules of the buffer.
@Suite("Event mailboxes", .timeLimit(.minutes(1))) struct EventMailboxTests {
    private func mailbox(_ buffer: EventBuffer) -> EventMailbox { EventMailbox(buffer.line, time: LinkTime(ManualClock())) }
    private func event(_ number: WAMPID) -> ValuesAndNotes<RawEvent, EventGap>.Item {
        .value(RawEvent(publication: number, topic: "t", details: [:], arguments: .none))
    }

    /// The content of a mailbox: publications, negative numbers of dropped events, and 0 for a note.
    private func take(_ mailbox: EventMailbox, _ count: Int) async throws -> [Int] {
        var taken: [Int] = []
        while taken.count < count, let item = try await mailbox.next() {
            switch item {
            case .value(let event): taken.append(Int(event.publication))
            case .dropped(let count): taken.append(-count)
            case .note: taken.append(0)
            }
        }
        return taken
    }

    @Test(
        "the buffer policy decides which events are dropped",
        arguments: [
            (EventBuffer.dropOldest(capacity: 3), [-7, 8, 9, 10]), (.dropNewest(capacity: 2), [1, 2, -8]), (.fail(capacity: 2), [1, 2]),
        ])
    func giving(_ buffer: EventBuffer, _ expected: [Int]) async throws {
        let mailbox = mailbox(buffer)
        let isFull = (1...10).map { mailbox.push(event($0)) }.last
        #expect(isFull == (buffer == .fail(capacity: 2)))
        #expect(try await take(mailbox, expected.count) == expected)
    }

    @Test("a mailbox with the fail policy fails after its stored events")
    func failing() async throws {
        let mailbox = mailbox(.fail(capacity: 2))
        for number in 1...3 { if mailbox.push(event(WAMPID(number))) { mailbox.finish(.failure(WAMPError(.overrun))) } }
        #expect(try await take(mailbox, 2) == [1, 2])
        #expect(!mailbox.push(event(4)))
        let error = await #expect(throws: WAMPError.self) { _ = try await mailbox.next() }
        #expect(error?.code == .overrun)
    }

    @Test("an event, the end and a cancellation each resume a waiting reader")
    func waking() async throws {
        let mailbox = mailbox(.dropOldest())
        async let taken = take(mailbox, 2)
        _ = mailbox.push(event(1))
        mailbox.finish(.success(()))
        #expect(try await taken == [1])
        let other = self.mailbox(.dropOldest())
        let waiting = Task { try await other.next() == nil }
        waiting.cancel()
        #expect(try await waiting.value)
    }
}
