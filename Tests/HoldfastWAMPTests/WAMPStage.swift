import CodecCore
import Holdfast
import HoldfastTesting
import HoldfastWAMP
import ProtocolStage
import Testing
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// A WAMP client on a ``ProtocolStage``: the test is the router.
struct WAMPStage: Sendable {
    let base: ProtocolStage
    let wamp: WAMPClient
    var clock: ManualClock { base.clock }

    init(
        authentication: WAMPAuthentication = .anonymous, options: WAMPOptions = WAMPOptions(),
        configuration: WebSocketConfiguration = WebSocketConfiguration()
    ) {
        base = ProtocolStage(configuration: configuration) { WAMPOptions.prepare(&$0) }
        wamp = WAMPClient(
            over: base.socket, realm: "realm1", authentication: authentication, options: options, clock: base.clock, seed: 7)
    }

    /// Answers the next attempt; the router has not been told anything yet.
    func answer(_ serialization: WAMPSerialization = .messagePack) async throws -> WAMPPeer {
        WAMPPeer(transport: try await base.answer(serialization.subprotocol), serialization: serialization)
    }

    /// Answers an attempt.
    func answer(_ attempt: MemoryServer.Attempt, _ serialization: WAMPSerialization = .messagePack) -> WAMPPeer {
        WAMPPeer(transport: attempt.accept(subprotocol: serialization.subprotocol), serialization: serialization)
    }

    /// Lets time pass until the client connects again; the router has not been told anything yet.
    func answerAgain(_ serialization: WAMPSerialization = .messagePack) async throws -> WAMPPeer {
        WAMPPeer(transport: try await base.answerAgain(serialization.subprotocol), serialization: serialization)
    }

    /// Answers the next attempt, and welcomes.
    func accept(_ serialization: WAMPSerialization = .messagePack) async throws -> WAMPPeer {
        let peer = try await answer(serialization)
        try await peer.welcome()
        return peer
    }

    /// Lets time pass until the client connects again, and welcomes it.
    func acceptAgain(_ serialization: WAMPSerialization = .messagePack) async throws -> WAMPPeer {
        let peer = try await answerAgain(serialization)
        try await peer.welcome()
        return peer
    }

    /// A client that has joined, and its router.
    static func joined(
        _ serialization: WAMPSerialization = .messagePack, options: WAMPOptions = WAMPOptions()
    ) async throws -> (stage: WAMPStage, peer: WAMPPeer) {
        let stage = WAMPStage(options: options)
        let peer = try await stage.accept(serialization)
        try await stage.wamp.joined()
        return (stage, peer)
    }

    /// A client that has joined over a link that holds hardly anything, and its router.
    static func narrow() async throws -> (stage: WAMPStage, peer: WAMPPeer) {
        var configuration = WebSocketConfiguration()
        configuration.limits.sendBuffer = 64
        configuration.limits.receiveBuffer = 64
        let stage = WAMPStage(configuration: configuration)
        let peer = try await stage.accept()
        try await stage.wamp.joined()
        return (stage, peer)
    }
}

/// The router's end of a connection.
struct WAMPPeer: Sendable {
    struct Mismatch: Error, CustomStringConvertible {
        let message: WAMPMessage?
        var description: String { "came instead: \(message?.words() ?? "the end")" }
    }
    static let features: ValueMap = [
        "broker": [
            "features": [
                "pattern_based_subscription": true, "publisher_exclusion": true, "subscriber_blackwhite_listing": true,
                "publisher_identification": true, "event_retention": true,
            ]
        ],
        "dealer": [
            "features": [
                "call_canceling": true, "call_timeout": true, "progressive_call_results": true, "progressive_call_invocations": true,
                "pattern_based_registration": true, "shared_registration": true, "caller_identification": true,
            ]
        ],
    ]

    let transport: MemoryTransport
    let serialization: WAMPSerialization

    func send(_ message: WAMPMessage) async throws {
        let bytes = try message.encoded(as: serialization)
        try await transport.send(serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes))
    }

    /// The next message of the client; nil after the end.
    func next() async throws -> WAMPMessage? {
        guard case .message(let message)? = try await transport.receive() else { return nil }
        #expect((message.kind == .text) == serialization.isText)
        return try message.withBytes { bytes in try WAMPMessage(decoding: bytes.bytes, as: serialization) }
    }

    /// Lets the client join.
    func welcome(_ session: WAMPID = 4711) async throws {
        let message = try await next()
        guard case .hello(realm: "realm1", _)? = message else { throw Mismatch(message: message) }
        try await send(.welcome(session: session, details: ["roles": .map(Self.features), "authid": "ann", "authrole": "user"]))
    }

    struct Call {
        let request: WAMPID
        let options: ValueMap
        let procedure: String
        let arguments: WAMPArguments
    }

    /// The next message, which is a call.
    func call() async throws -> Call {
        let message = try await next()
        guard case .call(let request, let options, let procedure, let arguments)? = message else { throw Mismatch(message: message) }
        return Call(request: request, options: options, procedure: procedure, arguments: arguments)
    }

    /// The next message, which cancels a call; with which mode.
    func cancellation(of request: WAMPID) async throws -> String? {
        let message = try await next()
        guard case .cancel(request, let options)? = message else { throw Mismatch(message: message) }
        return options["mode"]?.string
    }

    func answer(_ call: Call, _ list: [Value] = [], keywords: ValueMap = [:], details: ValueMap = [:]) async throws {
        try await send(.result(request: call.request, details: details, WAMPArguments(list, keywords: keywords)))
    }

    /// Takes a subscription, and gives it this id.
    @discardableResult
    func subscribe(as id: WAMPID) async throws -> (topic: String, options: ValueMap) {
        let message = try await next()
        guard case .subscribe(let request, let options, let topic)? = message else { throw Mismatch(message: message) }
        try await send(.subscribed(request: request, subscription: id))
        return (topic, options)
    }

    func event(_ subscription: WAMPID, _ publication: WAMPID, _ list: [Value] = [], details: ValueMap = [:]) async throws {
        try await send(.event(subscription: subscription, publication: publication, details: details, WAMPArguments(list)))
    }

    /// Takes a registration, and gives it this id.
    @discardableResult
    func register(as id: WAMPID) async throws -> (procedure: String, options: ValueMap) {
        let message = try await next()
        guard case .register(let request, let options, let procedure)? = message else { throw Mismatch(message: message) }
        try await send(.registered(request: request, registration: id))
        return (procedure, options)
    }

    func invoke(_ registration: WAMPID, _ request: WAMPID, _ list: [Value] = [], details: ValueMap = [:]) async throws {
        try await send(.invocation(request: request, registration: registration, details: details, WAMPArguments(list)))
    }

    /// The next message, which is a result of this invocation: what it carries, and whether it is a part.
    func yield(of request: WAMPID) async throws -> (list: [Value], isPart: Bool) {
        let message = try await next()
        guard case .yield(request, let options, let arguments)? = message else { throw Mismatch(message: message) }
        return (try arguments.list, options["progress"] == true)
    }

    /// The next message, which is the failure of this invocation.
    func failure(of request: WAMPID) async throws -> (uri: String, list: [Value], keywords: ValueMap) {
        let message = try await next()
        guard case .error(.invocation, request, _, let uri, let arguments)? = message else { throw Mismatch(message: message) }
        return (uri, try arguments.list, try arguments.keywords)
    }
}

/// What the tests call, and hear.
enum API {
    struct Query: Codable, Hashable, Sendable {
        var name: String
        var limit: Int?
    }
    struct User: Codable, Hashable, Sendable {
        var id: Int
        var name: String
    }

    /// Cannot be written.
    struct Bad: Codable, Sendable {
        func encode(to encoder: any Encoder) throws {
            throw EncodingError.invalidValue(self, EncodingError.Context(codingPath: [], debugDescription: "bad"))
        }
    }

    static let add = Procedure<(Int, Int), Int>("com.app.add")
    static let find = Procedure<Query, [User]>("com.app.find", input: .keywords, output: .object)
    static let user = Procedure<Int, User>("com.app.user")
    static let split = Procedure<Double, (Int, Double?)>("com.app.split")
    static let bad = Procedure<Bad, Void>("com.app.bad")
    static let ping = Procedure<Void, Void>("com.app.ping")
    static let chat = Topic<String>("com.app.chat")
}
