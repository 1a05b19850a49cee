import Foundation
import HoldfastSocketIO
import WebSocketRuntime

/// The checks of our Socket.IO client with `Interop/socketio/server.py`; each prints `ok NAME` or `not ok NAME: why`.
struct SocketIORows {
    let port: Int
    let transport: SocketIOTransport
    let version: SocketIOVersion

    private enum API {
        static let echo = Event<(String, Int, Photo)>("echo")
        static let echoed = Event<(String, Int, Photo)>("echoed")
        static let ask = Event<(String, Int)>("ask")
        static let number = Event<Int>("number")
        static let count = Event<Int>("count")
    }
    private struct Photo: Codable, Hashable, Sendable {
        var name: String
        var pixels: [UInt8]
    }
    private struct Login: Encodable, Sendable { var token: String }

    func run() async -> Bool {
        var rows: [(String, @Sendable () async throws -> Void)] = [
            ("events with bytes come back in order", echoes), ("acknowledgements have values", asks),
            ("many acknowledgements at once", asksAtOnce), ("without an acknowledgement in time", waits),
            ("the server's questions are answered", answers), ("2,000 events in order", counts),
            ("all events, without types", hearsAll), ("a refusal for good", givesUp),
            ("two namespaces share a connection", shares), ("the server leaves a namespace, and the app comes back", comesBack),
            ("the app leaves and comes back", leaves), ("the connection lives on its pings", lives),
        ]
        switch version {
        case .v4:
            rows += [
                ("a refusal has its data", hasReasons), ("the namespace / has no payload", hasNoPayload),
                ("the namespace / is left, and asked for again", leavesRoot),
            ]
        case .v5:
            rows += [
                ("the payload reaches the server", logsIn), ("a refusal has its data, and the next payload is accepted", renews),
                ("an event that is larger than the server accepts", isTooLarge), ("an unknown namespace is refused", isUnknown),
            ]
        }
        var allPassed = true
        for (name, check) in rows {
            do {
                try await Suite.withDeadline(.seconds(30)) { try await check() }
                print("ok \(version), \(transport): \(name)")
            } catch {
                print("not ok \(version), \(transport): \(name): \(error)")
                allPassed = false
            }
        }
        return allPassed
    }

    /// The payload that `/chat` wants; in protocol 4 the server reads the query of the connection instead.
    private var login: SocketIOPayload? {
        guard version == .v5 else { return nil }
        return { Login(token: "good") }
    }

    private func client(_ namespace: String = "/", token: String = "good", payload: SocketIOPayload? = nil) -> SocketIOClient {
        var options = SocketIOOptions()
        (options.transport, options.version) = (transport, version)
        let query = version == .v4 ? "?token=\(token)" : ""
        return SocketIOClient("http://127.0.0.1:\(port)\(query)", namespace: namespace, options: options, payload: payload) { socket in
            socket.reconnect.backoff = Backoff(base: .milliseconds(10), cap: .milliseconds(200), minimum: .milliseconds(1))
        }
    }

    private func first<Content>(_ events: RequestEvents<SocketIOEvent<Content>, SocketIOFailure>) async throws -> Content? {
        for try await event in events { if let content = event.content { return content } }
        return nil
    }

    // MARK: - Events and acknowledgements

    @Sendable private func echoes() async throws {
        let client = client()
        let echoed = client.on(API.echoed)
        for number in 1...50 {
            try await client.emit(
                API.echo, "hé \(number)", number, Photo(name: "p", pixels: Array(repeating: UInt8(number), count: number)))
        }
        var number = 0
        for try await event in echoed {
            number += 1
            try Suite.expect(event.content?.1, number)
            try Suite.expect(event.content?.2.pixels.count, number)
            if number == 50 { break }
        }
        await client.close()
    }

    @Sendable private func asks() async throws {
        let client = client()
        try Suite.expect(try await client.emit(API.ask, "hi", 3, ack: String.self), "hi")
        // python-engineio 3 reads an empty byte string of protocol 4 as null.
        let values: [Value] = ["a", .bytes([1, 2]), ["b": .bytes(version == .v4 ? [3] : [])]]
        try Suite.expect(try await client.request("ask", values), values)
        try Suite.expect(try await client.emit(API.ask, "again", 3, ack: String.self, retries: 2), "again")
        await client.close()
    }

    @Sendable private func asksAtOnce() async throws {
        let client = client()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask { try Suite.expect(try await client.request("ask", [.integer(Int64(number))]), [.integer(Int64(number))]) }
            }
            try await group.waitForAll()
        }
        await client.close()
    }

    @Sendable private func waits() async throws {
        let client = client()
        do {
            _ = try await client.request("silent", within: .milliseconds(500))
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.code, .timedOut)
            try Suite.expect(error.mayHaveArrived, true)
        }
        await client.close()
    }

    @Sendable private func answers() async throws {
        struct Question: Codable, Sendable { var n: Int }
        let client = client()
        let questions = client.on(Event<(Question, [UInt8])>("question"))
        let answered = client.on(Event<(Int, [UInt8])>("answered"))
        try await client.emit("question-me")
        for try await event in questions {
            guard case .event(let question) = event else { continue }
            try Suite.expect(question.wantsAnswer, true)
            try question.answer(question.content.0.n + 1, question.content.1 + [3])
            break
        }
        let answer = try await first(answered)
        try Suite.expect(answer?.0, 2)
        try Suite.expect(answer?.1, [1, 2, 3])
        await client.close()
    }

    @Sendable private func counts() async throws {
        let client = client()
        let numbers = client.on(API.number)
        try await client.emit(API.count, 2000)
        var next = 0
        for try await event in numbers {
            try Suite.expect(event.content, next)
            next += 1
            if next == 2000 { break }
        }
        await client.close()
    }

    @Sendable private func hearsAll() async throws {
        let client = client()
        var names: [String] = []
        let all = client.onAny()
        try await client.emit("echo", [7, .null])
        for try await event in all {
            guard case .event(let event) = event else { continue }
            names.append(event.name)
            if event.name == "echoed" {
                try Suite.expect(event.content, [7, .null])
                break
            }
        }
        try Suite.expect(names, ["auth", "echoed"])
        await client.close()
    }

    // MARK: - Namespaces

    @Sendable private func logsIn() async throws {
        let client = client { Login(token: "a token") }
        let auth = client.on(Event<[String: String]>("auth"))
        try Suite.expect(try await first(auth), ["token": "a token"])
        await client.close()
    }

    @Sendable private func renews() async throws {
        let asked = LockedValue(0)
        let client = client("/chat") {
            Login(
                token: asked.withLockedValue {
                    $0 += 1
                    return $0 == 1 ? "bad" : "good"
                })
        }
        var refusals: [SocketIORefusal] = []
        for await state in client.states {
            if case .refused(let refusal, _) = state { refusals.append(refusal) }
            if case .connected = state { break }
        }
        try Suite.expect(refusals, [SocketIORefusal("not authorized", data: ["code": 7, "token": "bad"])])
        try await client.emit("echo", ["x"])
        try Suite.expect(asked.withLockedValue { $0 }, 2)
        await client.close()
    }

    @Sendable private func givesUp() async throws {
        let client = client("/secret")
        do {
            try await client.ready(within: .seconds(10))
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.refusal?.message, "secret")
        }
        do {
            try await client.emit("echo")
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.code, .refused)
        }
        await client.close()
    }

    @Sendable private func shares() async throws {
        let client = client()
        let chat = client.namespace("/chat", payload: login)
        let secret = client.namespace("secret")
        let (here, there) = (client.on(Event<Int>("echoed")), chat.on(Event<Int>("echoed")))
        try await client.emit("echo", [1])
        try await chat.emit("echo", [2])
        try Suite.expect(try await first(here), 1)
        try Suite.expect(try await first(there), 2)
        for await state in secret.states { if case .refused(_, isFinal: true) = state { break } }
        try Suite.expect(client.sessionID == nil || version == .v5 && client.sessionID == chat.sessionID, false)
        await client.close()
    }

    @Sendable private func comesBack() async throws {
        let chat = client("/chat", payload: login)
        try await chat.ready(within: .seconds(10))
        try await chat.emit("kick-me")
        for await state in chat.states { if case .disconnected(byServer: true) = state { break } }
        chat.connect()
        for await state in chat.states { if case .connected = state { break } }
        let echoed = chat.on(Event<Int>("echoed"))
        try await chat.emit("echo", [3])
        try Suite.expect(try await first(echoed), 3)
        await chat.close()
    }

    @Sendable private func leaves() async throws {
        let client = client()
        let chat = client.namespace("/chat", payload: login)
        try await chat.ready(within: .seconds(10))
        chat.disconnect()
        for await state in chat.states { if case .disconnected(byServer: false) = state { break } }
        do {
            try await chat.emit("echo")
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.code, .disconnected)
        }
        chat.connect()
        for await state in chat.states { if case .connected = state { break } }
        try Suite.expect(try await client.request("ask", [1]), [1])
        await client.close()
    }

    @Sendable private func lives() async throws {
        let client = client()
        try await client.ready(within: .seconds(10))
        let session = client.sessionID
        try await Task.sleep(for: .milliseconds(4500))
        try Suite.expect(client.sessionID, session)
        await client.close()
    }

    @Sendable private func hasReasons() async throws {
        let chat = client("/chat", token: "bad")
        do {
            try await chat.ready(within: .seconds(10))
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.refusal, SocketIORefusal("not authorized", data: ["code": 7, "token": "bad"]))
        }
        await chat.close()
    }

    @Sendable private func hasNoPayload() async throws {
        let client = client { Login(token: "a token") }
        do {
            try await client.ready(within: .seconds(10))
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.refusal?.message.contains("query"), true)
        }
        let other = client.namespace("/random") { Login(token: "a token") }
        try await other.ready(within: .seconds(10))
        await client.close()
    }

    @Sendable private func leavesRoot() async throws {
        let client = client()
        try await client.ready(within: .seconds(10))
        client.disconnect()
        for await state in client.states { if case .disconnected(byServer: false) = state { break } }
        client.connect()
        try Suite.expect(try await client.request("ask", [1]), [1])
        await client.close()
    }

    @Sendable private func isTooLarge() async throws {
        let client = client()
        try await client.ready(within: .seconds(10))
        do {
            try await client.emit("echo", [.bytes([UInt8](repeating: 0, count: 1_000_001))])
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.code, .tooLarge)
        }
        try Suite.expect(try await client.request("ask", [1]), [1])
        await client.close()
    }

    @Sendable private func isUnknown() async throws {
        let client = client("/random")
        do {
            try await client.ready(within: .seconds(10))
            throw Suite.Failure(description: "nothing failed")
        } catch let error as SocketIOFailure {
            try Suite.expect(error.refusal?.message, "Unable to connect")
        }
        await client.close()
    }
}
