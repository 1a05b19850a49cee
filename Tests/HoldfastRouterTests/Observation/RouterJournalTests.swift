import CodecCore
import Holdfast
import Logging
import WebSocketRuntime
import Testing
import WAMPCore
import WAMPSigning

@testable import HoldfastRouter

/// The log of a router.
@Suite(.timeLimit(.minutes(1))) struct RouterJournalTests {
    /// Stores the logged lines.
    private struct Keeper: LogHandler {
        let lines: LockedValue<[String]>
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.withLockedValue { $0.append("\(event.message)") } }
    }

    /// The log of a user that authenticates with a ticket, calls itself and gets its own event.
    private func lines(at level: Logger.Level) async throws -> [String] {
        let lines = LockedValue<[String]>([])
        var users = WAMPUsers()
        users.add("ann", .ticket("sesame"))
        let configuration = WAMPRouterConfiguration.quiet { [users] in
            $0.authenticator = users
            $0.logger = Logger(label: "test") { _ in Keeper(lines: lines, logLevel: level) }
        }
        try await RouterStage.run(configuration) { stage in
            let guest = stage.guest()
            guard case .challenge = try await guest.hello(["authid": "ann", "authmethods": ["ticket"]]) else { throw RouterGuest.Ended() }
            try await guest.say(.authenticate(signature: "sesame", extra: ValueMap()))
            _ = try await guest.next()
            let subscription = try await guest.subscribe(1, "com.app.chat")
            let registration = try await guest.register(2, "com.app.echo")
            try await guest.call(3, "com.app.echo", ["a secret of the app's"])
            try await guest.answer()
            _ = try await guest.result(of: 3)
            let options: ValueMap = ["exclude_me": false]
            try await guest.say(.publish(request: 4, options: options, topic: "com.app.chat", WAMPArguments(["a secret of the app's"])))
            _ = try await guest.event()
            try await guest.publishAcknowledged(5, "com.app.news")
            try await guest.say(.unsubscribe(request: 6, subscription: subscription))
            _ = try await guest.next()
            try await guest.call(7, "com.app.echo")
            guard case .invocation(let invocation, _, _, _) = try await guest.next() else { throw RouterGuest.Ended() }
            try await guest.say(.cancel(request: 7, options: ["mode": "kill"]))
            _ = try await guest.next()
            try await guest.say(.error(.invocation, request: invocation, details: ValueMap(), uri: "com.app.no", .none))
            _ = try await guest.next()
            try await guest.say(.unregister(request: 8, registration: registration))
            _ = try await guest.next()
        }
        return lines.withLockedValue(\.self)
    }

    @Test func `each message is described with names instead of ids`() async throws {
        let lines = try await lines(at: .trace)
        #expect(lines.contains { $0.contains("← CALL #3 com.app.echo") })
        #expect(lines.contains { $0.contains("→ INVOCATION") && $0.contains("com.app.echo") })
        #expect(lines.contains { $0.contains("→ RESULT #3") })
        #expect(lines.contains { $0.contains("→ EVENT com.app.chat") })
        let named = [
            "← YIELD #1 com.app.echo", "→ PUBLISHED #5 com.app.news", "→ UNSUBSCRIBED #6 com.app.chat", "→ INTERRUPT #2 com.app.echo",
            "← ERROR #2 com.app.no (of INVOCATION com.app.echo)", "→ UNREGISTERED #8 com.app.echo",
        ]
        for words in named { #expect(lines.contains { $0.contains(words) }, "\(words)") }
    }

    @Test func `the names of a client's ids are separate from those of others and removed with it`() {
        let lines = LockedValue<[String]>([])
        var journal = RouterJournal(Logger(label: "test") { _ in Keeper(lines: lines, logLevel: .trace) })
        let (one, other) = (RouterConnection(1), RouterConnection(2))
        let event = WAMPMessage.event(subscription: 5, publication: 1, details: ValueMap(), .none)
        for client in [one, other] { journal.received(.hello(realm: "realm1", details: ValueMap()), from: client) }
        journal.received(.subscribe(request: 1, options: ValueMap(), topic: "com.app.chat"), from: one)
        journal.sent(.subscribed(request: 1, subscription: 5), to: one)
        lines.withLockedValue { $0 = [] }
        journal.sent(event, to: one)
        journal.sent(event, to: other)
        journal.sent(event, to: [one, other])
        journal.forget(one)
        journal.sent(event, to: one)
        let names = ["→ EVENT com.app.chat", "→ EVENT of subscription 5", "2 clients → EVENT com.app.chat", "→ EVENT of subscription 5"]
        for (line, name) in zip(lines.withLockedValue(\.self), names) { #expect(line.contains(name)) }
    }

    @Test func `neither payloads nor secrets get into the log`() async throws {
        for line in try await lines(at: .trace) { #expect(!line.contains("secret") && !line.contains("sesame"), "\(line)") }
    }

    @Test func `without the trace level the log has only joins and leaves`() async throws {
        let lines = try await lines(at: .info)
        #expect(lines.contains { $0.contains("joined realm1 as ann (user)") })
        #expect(!lines.contains { $0.contains("CALL") || $0.contains("EVENT") })
    }

    @Test func `a text of a client is truncated and stays in one line`() async throws {
        let lines = LockedValue<[String]>([])
        let configuration = WAMPRouterConfiguration.quiet {
            $0.logger = Logger(label: "test") { _ in Keeper(lines: lines, logLevel: .info) }
        }
        try await RouterStage.run(configuration) { stage in
            let guest = stage.guest()
            let reason = "com.app\nsession 1 joined" + String(repeating: "x", count: 100_000)
            try await guest.say(.abort(details: ValueMap(), reason: reason, .none))
            _ = try await guest.closeCode()
        }
        let line = try #require(lines.withLockedValue(\.self).first { $0.contains("was not let in") })
        #expect(line.contains(#"com.app\nsession 1 joined"#) && !line.contains("\n") && line.utf8.count < 400)
    }
}
