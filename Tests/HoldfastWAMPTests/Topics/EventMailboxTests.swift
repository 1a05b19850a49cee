import HoldfastTesting
@testable import HoldfastWAMP
import Testing
import WAMPCore

@Suite("Event mailboxes", .timeLimit(.minutes(1))) struct EventMailboxTests {
    private func event(_ number: WAMPID) -> RawEvent { RawEvent(publication: number, topic: "t", details: [:], arguments: .none) }

    /// What a mailbox holds: publications, gaps as negative counts; nil at the end.
    private func take(_ mailbox: EventMailbox, _ count: Int) async throws -> [Int] {
        var taken: [Int] = []
        while taken.count < count, let item = try await mailbox.next() {
            switch item {
            case .event(let event): taken.append(Int(event.publication))
            case .gap(.dropped(let count)): taken.append(-count)
            case .gap: taken.append(0)
            }
        }
        return taken
    }

    @Test("the oldest give way, and the hole is told before what is left")
    func oldest() async throws {
        let mailbox = EventMailbox(.dropOldest(capacity: 3), "EVENT t")
        for number in 1...10 { #expect(mailbox.push(event(WAMPID(number))) == nil) }
        #expect(try await take(mailbox, 4) == [-7, 8, 9, 10])
        _ = mailbox.push(event(11))
        #expect(try await take(mailbox, 1) == [11])
    }

    @Test("the newest are dropped, and the hole is told behind what was kept")
    func newest() async throws {
        let mailbox = EventMailbox(.dropNewest(capacity: 2), "EVENT t")
        for number in 1...5 { _ = mailbox.push(event(WAMPID(number))) }
        #expect(try await take(mailbox, 1) == [1])
        _ = mailbox.push(event(6))
        #expect(try await take(mailbox, 3) == [2, -3, 6])
    }

    @Test("one that is to fail does so behind what it holds")
    func failing() async throws {
        let mailbox = EventMailbox(.fail(capacity: 2), "EVENT t")
        for number in 1...3 { _ = mailbox.push(event(WAMPID(number))) }
        #expect(try await take(mailbox, 2) == [1, 2])
        let error = await #expect(throws: WAMPError.self) { _ = try await mailbox.next() }
        #expect(error?.code == .overrun)
    }

    @Test("gaps do not pile up without bound")
    func gaps() async throws {
        let mailbox = EventMailbox(.dropOldest(capacity: 2), "EVENT t")
        for _ in 0..<100 { _ = mailbox.push(.reconnected) }
        for place in mailbox.finish(.success(())) { place.resume() }
        #expect(try await take(mailbox, 100).count == 4)
    }

    @Test("whoever waits is woken by an event, by the end, and by its cancellation")
    func waking() async throws {
        let mailbox = EventMailbox(.dropOldest(), "EVENT t")
        async let taken = take(mailbox, 2)
        mailbox.push(event(1))?.resume()
        for place in mailbox.finish(.success(())) { place.resume() }
        #expect(try await taken == [1])
        let waiting = Task { try await EventMailbox(.dropOldest(), "EVENT t").next() == nil }
        waiting.cancel()
        #expect(try await waiting.value)
    }
}
