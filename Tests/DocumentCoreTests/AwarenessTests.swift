import MachineCore
import Testing

@testable import DocumentCore

@Suite struct `Clocks of awareness` {
    private func update(_ entries: (client: UInt64, clock: UInt64, state: String)...) -> [UInt8] {
        var writer = Lib0Writer()
        writer.uint(entries.count)
        for entry in entries {
            writer.uint(entry.client)
            writer.uint(entry.clock)
            writer.string(entry.state)
        }
        return writer.bytes
    }

    @Test func `a state with a known clock is old, except that it may say that its client is gone`() throws {
        var awareness = DocumentAwareness(client: 1)
        #expect(try awareness.apply(update((2, 5, "1")), at: .start) == .init(added: [2]))
        #expect(try awareness.apply(update((2, 5, "2")), at: .start) == .init() && awareness.states[2] == 1)
        #expect(try awareness.apply(update((2, 4, "null")), at: .start) == .init())
        #expect(try awareness.apply(update((2, 6, "2")), at: .start) == .init(updated: [2]))
        #expect(try awareness.apply(update((2, 6, "null")), at: .start) == .init(removed: [2]))
        #expect(try awareness.apply(update((2, 6, "3")), at: .start) == .init() && awareness.states.isEmpty)
    }

    @Test func `a client that never was here does not leave`() throws {
        var awareness = DocumentAwareness(client: 1)
        #expect(try awareness.apply(update((2, 0, "null")), at: .start) == .init() && awareness.deadline == nil)
        #expect(try awareness.apply(update((2, 0, "1")), at: .start) == .init(added: [2]))
        // Who left is not said to leave again when the time is over.
        #expect(try awareness.apply(update((2, 1, "null")), at: .start) == .init(removed: [2]))
        #expect(awareness.wake(at: Moment(.seconds(30))) == .init() && awareness.deadline == nil)
    }

    @Test func `the answer to who takes this client for gone has a newer clock`() throws {
        var mine = DocumentAwareness(client: 1), other = DocumentAwareness(client: 2)
        #expect(mine.set(1, at: .start) == update((1, 1, "1")))
        let change = try mine.apply(update((1, 7, "null")), at: .start)
        #expect(change.answer == update((1, 8, "1")))
        _ = try other.apply(update((1, 7, "null")), at: .start)
        #expect(try other.apply(change.answer ?? [], at: .start) == .init(added: [1]))
    }

    @Test func `nobody gives this client a state`() throws {
        var awareness = DocumentAwareness(client: 1)
        #expect(try awareness.apply(update((1, 7, "2")), at: .start) == .init() && awareness.states.isEmpty)
    }

    @Test func `too many clients are ignored, and a state that is too long is refused`() throws {
        var awareness = DocumentAwareness(client: 1), writer = Lib0Writer()
        writer.uint(DocumentAwareness.maximumClients + 5)
        for client in 0..<DocumentAwareness.maximumClients + 5 {
            writer.uint(client + 10)
            writer.uint(1 as Int)
            writer.string("1")
        }
        let change = try awareness.apply(writer.bytes, at: .start)
        #expect(change.added.count == DocumentAwareness.maximumClients && awareness.states.count == change.added.count)
        let long = "\"" + String(repeating: "x", count: DocumentAwareness.maximumStateSize) + "\""
        #expect(throws: DocumentError.self) { try awareness.apply(update((3, 1, "1"), (10, 2, long)), at: .start) }
        #expect(awareness.states[3] == nil && awareness.states[10] == 1)
    }

    @Test func `the states of others take 16 MiB at most, and room that is free again is used`() throws {
        var awareness = DocumentAwareness(client: 1)
        func state(of client: Int, clock: Int, length: Int) -> [UInt8] {
            var writer = Lib0Writer()
            writer.uint(1 as Int)
            writer.uint(client)
            writer.uint(clock)
            writer.string("\"" + String(repeating: "x", count: length) + "\"")
            return writer.bytes
        }
        for client in 2..<400 { _ = try awareness.apply(state(of: client, clock: 1, length: 60_000), at: .start) }
        let count = awareness.states.count
        #expect((270..<290).contains(count))
        // A shorter state of a known client is taken, and makes room for another.
        for client in 2..<4 { _ = try awareness.apply(state(of: client, clock: 2, length: 10), at: .start) }
        #expect(try awareness.apply(state(of: 399, clock: 1, length: 60_000), at: .start).added == [399])
        _ = awareness.wake(at: Moment(.seconds(30)))
        for client in 2..<200 { _ = try awareness.apply(state(of: client, clock: 3, length: 60_000), at: Moment(.seconds(30))) }
        #expect(awareness.states.count == 198)
    }
}
