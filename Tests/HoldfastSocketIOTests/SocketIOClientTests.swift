import Foundation
import HoldfastTesting
import ProtocolStage
import Testing
import WebSocketCore
import WebSocketRuntime

@testable import HoldfastSocketIO

/// A Socket.IO client on a ``ProtocolStage``: the test is the server.
struct SocketIOStage: Sendable {
    struct Ended: Error {}
    let base: ProtocolStage
    let client: SocketIOClient
    var clock: ManualClock { base.clock }

    init(_ namespace: String = "/", _ change: (inout SocketIOOptions) -> Void = { _ in }, payload: SocketIOPayload? = nil) {
        var options = SocketIOOptions()
        change(&options)
        let settings = options
        base = ProtocolStage { settings.prepare(&$0) }
        client = SocketIOClient(over: base.socket, namespace: namespace, options: options, clock: base.clock, payload: payload)
    }

    /// Answers the next attempt, and returns the server's end.
    func answer(again: Bool = false) async throws -> SocketIOPeer {
        let peer = SocketIOPeer(transport: again ? try await base.answerAgain() : try await base.answer())
        try await peer.send(#"0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#)
        return peer
    }

    /// Answers the next attempt, accepts the namespace, and returns the server's end.
    func accept(_ namespace: String = "", again: Bool = false, reply: String = #"{"sid":"s"}"#) async throws -> SocketIOPeer {
        let peer = try await answer(again: again)
        #expect(try await peer.next().hasPrefix("40\(namespace)"))
        try await peer.send("40\(namespace)\(reply)")
        return peer
    }
}

/// The server's end of a connection.
struct SocketIOPeer: Sendable {
    let transport: MemoryTransport

    func send(_ text: String) async throws { try await transport.send(.text(text)) }
    func send(_ bytes: [UInt8]) async throws { try await transport.send(.binary(bytes)) }

    /// The next message of the client.
    func message() async throws -> Message {
        guard case .message(let message)? = try await transport.receive() else { throw SocketIOStage.Ended() }
        return message
    }

    /// The next text of the client.
    func next() async throws -> String {
        guard case .text(let text) = try await message() else { throw SocketIOStage.Ended() }
        return text
    }
}

@Suite(.timeLimit(.minutes(1))) struct SocketIOClientTests {
    private struct Photo: Codable, Hashable, Sendable {
        var name: String
        var pixels: Data
    }
    private enum API {
        static let chat = Event<(String, Int)>("chat")
        static let photo = Event<(Photo, [UInt8])>("photo")
        static let ask = Event<Int>("ask")
        static let hello = Event<String>("hello")
    }
    private struct Login: Encodable, Sendable { var token: String }

    // MARK: - Events

    @Test func `an event has its arguments, and bytes leave and arrive without Base64`() async throws {
        let stage = SocketIOStage()
        let photos = stage.client.on(API.photo)
        let peer = try await stage.accept()
        try await stage.client.emit(API.chat, "hi", 3)
        #expect(try await peer.next() == #"42["chat","hi",3]"#)
        try await stage.client.emit(API.photo, Photo(name: "p", pixels: Data([1, 2])), [3])
        #expect(
            try await peer.next()
                == #"452-["photo",{"name":"p","pixels":{"_placeholder":true,"num":0}},{"_placeholder":true,"num":1}]"#)
        #expect(try await peer.message() == .binary([1, 2]))
        #expect(try await peer.message() == .binary([3]))

        try await peer.send(#"452-["photo",{"pixels":{"num":1,"_placeholder":true},"name":"q"},{"_placeholder":true,"num":0}]"#)
        try await peer.send([9])
        try await peer.send([8, 7])
        var events = photos.makeAsyncIterator()
        let content = try await events.next()?.content
        #expect(content?.0 == Photo(name: "q", pixels: Data([8, 7])))
        #expect(content?.1 == [9])
        await stage.client.close()
        #expect(try await events.next() == nil)
    }

    @Test func `any number of consumers get an event, and arguments of other types are told`() async throws {
        let stage = SocketIOStage()
        let (one, two, all) = (stage.client.on(API.chat), stage.client.on(API.chat), stage.client.onAny())
        let peer = try await stage.accept()
        try await peer.send(#"42["chat","a",1,"more"]"#)
        try await peer.send(#"42["chat",7]"#)
        try await peer.send(#"42["other",null]"#)
        for events in [one, two] {
            var iterator = events.makeAsyncIterator()
            let content = try await iterator.next()?.content
            #expect(content?.0 == "a" && content?.1 == 1)
            guard case .undecodable(let failure)? = try await iterator.next() else { return #expect(Bool(false)) }
            #expect(failure.code == .undecodable)
        }
        var iterator = all.makeAsyncIterator()
        for expected in [["a", 1, "more"], [7], [.null]] as [[Value]] { #expect(try await iterator.next()?.content == expected) }
        await stage.client.close()
    }

    @Test func `a question of the server is answered once, with values and bytes`() async throws {
        let stage = SocketIOStage()
        let questions = stage.client.on(API.ask)
        let peer = try await stage.accept()
        try await peer.send(#"4212["ask",1]"#)
        var iterator = questions.makeAsyncIterator()
        guard case .event(let question)? = try await iterator.next() else { return #expect(Bool(false)) }
        #expect(question.wantsAnswer && question.content == 1)
        try question.answer("yes", [5] as [UInt8])
        try question.answer("no")
        #expect(try await peer.next() == #"461-12["yes",{"_placeholder":true,"num":0}]"#)
        #expect(try await peer.message() == .binary([5]))
        try await stage.client.emit(API.hello, "after")
        #expect(try await peer.next() == #"42["hello","after"]"#)
        await stage.client.close()
    }

    @Test func `a volatile event needs a session`() async throws {
        let stage = SocketIOStage()
        let isTaken = try await stage.client.emitVolatile(API.hello, "too early")
        #expect(!isTaken)
        let peer = try await stage.accept()
        try await stage.client.ready()
        let isTakenNow = try await stage.client.emitVolatile(API.hello, "now")
        #expect(isTakenNow)
        #expect(try await peer.next() == #"42["hello","now"]"#)
        await stage.client.close()
    }

    @Test func `arguments that cannot be encoded are refused, and nothing is sent`() async throws {
        let stage = SocketIOStage()
        await #expect(throws: SocketIOFailure.self) { try await stage.client.emit(Event<Double>("a"), .nan) }
        await stage.client.close()
    }

    // MARK: - Acknowledgements

    @Test func `an acknowledgement has a type`() async throws {
        let stage = SocketIOStage()
        async let reply = stage.client.emit(API.chat, "hi", 3, ack: [String].self)
        let peer = try await stage.accept()
        let text = try await peer.next()
        let number = try #require(text.split(separator: "[").first?.dropFirst(2))
        #expect(text.hasSuffix(#"["chat","hi",3]"#))
        try await peer.send("43\(number)[[\"a\",\"b\"],7]")
        #expect(try await reply == ["a", "b"])
        async let nothing = stage.client.emit(API.ask, 1, ack: Int?.self)
        let next = try #require(try await peer.next().split(separator: "[").first?.dropFirst(2))
        try await peer.send("43\(next)[]")
        #expect(try await nothing == nil)
        await stage.client.close()
    }

    @Test func `after a loss an event that was sent is unknown, and one with retries is sent again`() async throws {
        let stage = SocketIOStage()
        let peer = try await stage.accept()
        let once = Task { try await stage.client.emit(API.ask, 1, ack: Int.self) }
        _ = try await peer.next()
        async let again = stage.client.emit(API.ask, 2, ack: Int.self, within: .seconds(60), retries: 3)
        let sent = try await peer.next()
        peer.transport.abort()
        await #expect {
            try await once.value
        } throws: {
            ($0 as? SocketIOFailure)?.code == .outcomeUnknown
        }
        let next = try await stage.accept(again: true)
        #expect(try await next.next() == sent)
        let number = try #require(sent.split(separator: "[").first?.dropFirst(2))
        try await next.send("43\(number)[5]")
        #expect(try await again == 5)
        await stage.client.close()
    }

    @Test func `an event without an answer in time fails, and so does a cancelled one`() async throws {
        let stage = SocketIOStage()
        let peer = try await stage.accept()
        let waiting = Task { try await stage.client.request("ask", [1], within: .seconds(7)) }
        _ = try await peer.next()
        await stage.base.pass(.seconds(6)...(.seconds(7)))
        await #expect {
            try await waiting.value
        } throws: {
            ($0 as? SocketIOFailure)?.code == .timedOut && ($0 as? SocketIOFailure)?.mayHaveArrived == true
        }
        let cancelled = Task { try await stage.client.request("ask", [2]) }
        _ = try await peer.next()
        cancelled.cancel()
        await #expect {
            try await cancelled.value
        } throws: {
            ($0 as? SocketIOFailure)?.code == .cancelled
        }
        await stage.client.close()
    }

    // MARK: - Namespaces

    @Test func `each attempt gets a new payload, and a refusal has its data`() async throws {
        let asked = LockedValue(0)
        let stage = SocketIOStage(
            "/chat",
            payload: {
                let number = asked.withLockedValue { asked in
                    asked += 1
                    return asked
                }
                return Login(token: "token number \(number)")
            })
        let peer = try await stage.answer()
        #expect(try await peer.next() == #"40/chat,{"token":"token number 1"}"#)
        try await peer.send(#"44/chat,{"message":"no","data":{"code":7}}"#)
        await stage.client.states.until {
            if case .refused(let refusal, false) = $0 { refusal == SocketIORefusal("no", data: ["code": 7]) } else { false }
        }
        await stage.base.pass(.zero...(.seconds(1)))
        #expect(try await peer.next() == #"40/chat,{"token":"token number 2"}"#)
        try await peer.send(#"40/chat,{"sid":"s"}"#)
        try await stage.client.ready()
        #expect(stage.client.sessionID == "s")
        await stage.client.close()
    }

    @Test func `an app that can give no payload, and a refusal without one, end the namespace`() async throws {
        let stage = SocketIOStage("/chat", payload: { throw CredentialUnavailable(isRetryable: false, "signed out") })
        let events = stage.client.on(API.hello)
        _ = try await stage.answer()
        await #expect {
            try await stage.client.ready()
        } throws: {
            ($0 as? SocketIOFailure)?.code == .refused
        }
        await #expect(throws: SocketIOFailure.self) { for try await _ in events {} }
        await #expect(throws: SocketIOFailure.self) { try await stage.client.emit(API.hello, "x") }
        await stage.client.close()
    }

    @Test func `namespaces share a connection, and the last reference leaves its namespace`() async throws {
        let stage = SocketIOStage()
        let peer = try await stage.accept()
        try await stage.client.ready()
        try await use(stage, peer)
        #expect(try await peer.next() == "41/chat,")
        try await stage.client.emit(API.hello, "still here")
        #expect(try await peer.next() == #"42["hello","still here"]"#)
        await stage.client.close()
    }

    private func use(_ stage: SocketIOStage, _ peer: SocketIOPeer) async throws {
        let chat = stage.client.namespace("chat")
        #expect(try await peer.next() == "40/chat,")
        try await peer.send(#"40/chat,{"sid":"c"}"#)
        try await chat.ready()
        try await chat.emit(API.hello, "x")
        #expect(try await peer.next() == #"42/chat,["hello","x"]"#)
    }

    @Test func `a listener is told of a gap, and of none if the session was recovered`() async throws {
        let stage = SocketIOStage()
        let events = stage.client.on(API.hello)
        var iterator = events.makeAsyncIterator()
        let first = try await stage.accept(reply: #"{"sid":"s","pid":"p"}"#)
        try await first.send(#"42["hello","a","offset1"]"#)
        #expect(try await iterator.next()?.content == "a")
        first.transport.abort()

        let second = try await stage.answer(again: true)
        #expect(try await second.next() == #"40{"pid":"p","offset":"offset1"}"#)
        try await second.send(#"40{"sid":"s","pid":"p"}"#)
        try await second.send(#"42["hello","b","offset2"]"#)
        #expect(try await iterator.next()?.content == "b")
        guard case .connected(isRecovered: true) = stage.client.state else { return #expect(Bool(false), "\(stage.client.state)") }
        second.transport.abort()

        let third = try await stage.answer(again: true)
        #expect(try await third.next() == #"40{"pid":"p","offset":"offset2"}"#)
        try await third.send(#"40{"sid":"t"}"#)
        #expect(try await iterator.next()?.isGap == true)
        await stage.client.close()
    }

    @Test func `a namespace that the server leaves stays so until the app asks again`() async throws {
        let stage = SocketIOStage()
        let peer = try await stage.accept()
        try await stage.client.ready()
        try await peer.send("41")
        await stage.client.states.until { if case .disconnected(byServer: true) = $0 { true } else { false } }
        await #expect(throws: SocketIOFailure.self) { try await stage.client.ready() }
        stage.client.connect()
        #expect(try await peer.next() == "40")
        try await peer.send(#"40{"sid":"t"}"#)
        try await stage.client.ready()
        await stage.client.close()
        guard case .closed(nil) = stage.client.state else { return #expect(Bool(false)) }
    }

    // MARK: - The connection

    @Test(arguments: [
        ("https://example.com", "wss://example.com/socket.io/?EIO=4&transport=websocket"),
        ("http://example.com:80/", "ws://example.com:80/socket.io/?EIO=4&transport=websocket"),
        ("wss://example.com/api/live/?room=7&x=%20", "wss://example.com/api/live/?EIO=4&transport=websocket&room=7&x=%20"),
        ("HTTP://[::1]:9?a", "ws://[::1]:9/socket.io/?EIO=4&transport=websocket&a"),
    ])
    func `a URL of the app becomes the one of the WebSocket`(url: String, expected: String) {
        #expect(SocketIOOptions().address(url) == expected)
    }

    @Test func `closing ends all that wait`() async throws {
        let stage = SocketIOStage()
        let waiting = Task { try await stage.client.emit(API.hello, "never") }
        let events = Task { for try await _ in stage.client.on(API.hello) {} }
        _ = try await stage.answer()
        await stage.client.close()
        await #expect(throws: SocketIOFailure.self) { try await waiting.value }
        try await events.value
    }
}
