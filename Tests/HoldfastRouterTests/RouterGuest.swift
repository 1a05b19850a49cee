import CodecCore
import Holdfast
import HoldfastRouter
import HoldfastTesting
import Logging
import WAMPCore
import WebSocketCore

/// A client that sends and receives single messages under the control of a test.
final class RouterGuest: Sendable {
    /// The router closed, or sent another message than expected.
    struct Ended: Error {}

    let connection: WebSocketConnection
    let serialization: WAMPSerialization
    private let messages: WebSocketMessages

    init(_ connection: WebSocketConnection, _ serialization: WAMPSerialization) {
        (self.connection, self.serialization, messages) = (connection, serialization, connection.messages)
    }

    /// Connects over a socket.
    convenience init(_ url: String, _ serialization: WAMPSerialization = .json) async throws {
        var configuration = WebSocketConfiguration()
        configuration.subprotocols = [serialization.subprotocol]
        self.init(try await WebSocketConnection.connect(to: url, configuration: configuration), serialization)
    }

    func say(_ message: WAMPMessage) async throws {
        let bytes = try message.encoded(as: serialization)
        try await connection.send(serialization.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes))
    }

    /// The next message.
    func next() async throws -> WAMPMessage {
        for try await message in messages {
            switch message {
            case .text(var text):
                return try text.withUTF8 { try WAMPMessage(decoding: UnsafeRawBufferPointer($0).bytes, as: serialization) }
            case .binary(let bytes): return try bytes.withUnsafeBytes { try WAMPMessage(decoding: $0.bytes, as: serialization) }
            }
        }
        throw Ended()
    }

    /// Says hello and returns the answer of the router.
    func hello(realm: String = "realm1", _ details: ValueMap = ValueMap()) async throws -> WAMPMessage {
        let roles: Value = [
            "publisher": [:], "subscriber": [:], "caller": ["features": ["call_canceling": true, "progressive_call_results": true]],
            "callee": ["features": ["call_canceling": true, "progressive_call_results": true]],
        ]
        try await say(.hello(realm: realm, details: ValueMap([ValueMap.Entry(key: "roles", value: roles)] + details.entries)))
        return try await next()
    }

    /// Joins and returns the session id.
    @discardableResult
    func join(realm: String = "realm1", _ details: ValueMap = ValueMap()) async throws -> WAMPID {
        guard case .welcome(let session, _) = try await hello(realm: realm, details) else { throw Ended() }
        return session
    }

    func subscribe(_ request: WAMPID, _ topic: String, _ options: ValueMap = ValueMap()) async throws -> WAMPID {
        try await say(.subscribe(request: request, options: options, topic: topic))
        guard case .subscribed(request, let subscription) = try await next() else { throw Ended() }
        return subscription
    }

    func register(_ request: WAMPID, _ procedure: String, _ options: ValueMap = ValueMap()) async throws -> WAMPID {
        try await say(.register(request: request, options: options, procedure: procedure))
        guard case .registered(request, let registration) = try await next() else { throw Ended() }
        return registration
    }

    func publish(_ request: WAMPID, _ topic: String, _ list: [Value] = [], acknowledge: Bool = false) async throws {
        let options: ValueMap = acknowledge ? ["acknowledge": true] : ValueMap()
        try await say(.publish(request: request, options: options, topic: topic, WAMPArguments(list)))
    }

    /// Publishes and waits for the acknowledgement.
    func publishAcknowledged(_ request: WAMPID, _ topic: String, _ list: [Value] = []) async throws {
        try await publish(request, topic, list, acknowledge: true)
        guard case .published(request, _) = try await next() else { throw Ended() }
    }

    func call(_ request: WAMPID, _ procedure: String, _ list: [Value] = []) async throws {
        try await say(.call(request: request, options: ValueMap(), procedure: procedure, WAMPArguments(list)))
    }

    /// The arguments of the next message, which must be an event.
    func event() async throws -> [Value] {
        guard case .event(_, _, _, let arguments) = try await next() else { throw Ended() }
        return try arguments.list
    }

    /// The arguments of the next message, which must be the result of a call.
    func result(of call: WAMPID) async throws -> [Value] {
        guard case .result(call, _, let arguments) = try await next() else { throw Ended() }
        return try arguments.list
    }

    /// The URI of the next message, which must be the error of a request.
    func error(of kind: WAMPRequestKind, _ request: WAMPID) async throws -> String {
        guard case .error(kind, request, _, let uri, _) = try await next() else { throw Ended() }
        return uri
    }

    /// The reason of the next message, which must be an ABORT.
    func abort() async throws -> String {
        guard case .abort(_, let reason, _) = try await next() else { throw Ended() }
        return reason
    }

    /// The reason of the next message, which must be a GOODBYE.
    func goodbye() async throws -> String {
        guard case .goodbye(_, let reason, _) = try await next() else { throw Ended() }
        return reason
    }

    /// Answers the next message, which must be an invocation, with its own arguments.
    func answer() async throws {
        guard case .invocation(let request, _, _, let arguments) = try await next() else { throw Ended() }
        try await say(.yield(request: request, options: ValueMap(), arguments))
    }

    /// Waits for the end and returns the router's close code.
    func closeCode() async throws -> UInt16? {
        while (try? await next()) != nil {}
        return connection.closeRecord?.received?.code?.rawValue
    }
}

/// A router whose clients connect in memory.
struct RouterStage: Sendable {
    let router: WAMPRouter
    private let arrive: @Sendable (MemoryTransport) -> Void

    /// A client that has connected and sent nothing.
    func guest(_ serialization: WAMPSerialization = .json) -> RouterGuest {
        let agreement = Agreement(subprotocol: serialization.subprotocol, response: ResponseHead(status: 101))
        let (client, server) = MemoryTransport.pair(agreement: agreement)
        arrive(server)
        return RouterGuest(WebSocketConnection(client), serialization)
    }

    /// A client that has joined.
    func member(_ serialization: WAMPSerialization = .json) async throws -> RouterGuest {
        let guest = guest(serialization)
        try await guest.join()
        return guest
    }

    /// Runs a test with a router.
    static func run(
        _ configuration: WAMPRouterConfiguration = .quiet, clock: ManualClock? = nil, _ body: (RouterStage) async throws -> Void
    ) async throws {
        let router = clock.map { WAMPRouter(configuration, clock: $0, seed: 1) } ?? WAMPRouter(configuration)
        let (transports, arriving) = AsyncStream.makeStream(of: MemoryTransport.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await withDiscardingTaskGroup { group in
                    for await transport in transports { group.addTask { await router.serve(transport: transport) } }
                    group.cancelAll()
                }
            }
            defer { group.cancelAll() }
            try await body(RouterStage(router: router) { arriving.yield($0) })
        }
    }
}

extension WAMPRouterConfiguration {
    /// The defaults with a silent logger.
    static var quiet: WAMPRouterConfiguration { quiet() }

    static func quiet(_ policy: RouterPolicy = RouterPolicy(), _ change: (inout WAMPRouterConfiguration) -> Void = { _ in }) -> Self {
        var configuration = WAMPRouterConfiguration(policy: policy)
        configuration.logger.logLevel = .critical
        change(&configuration)
        return configuration
    }
}
