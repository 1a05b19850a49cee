public import Holdfast
import Metrics
import NIOCore
import NIOPosix
import NIOSSL
public import ServiceLifecycle
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

#if !Server
    #error("HoldfastServer needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Server\"])")
#endif

/// A WebSocket server: listens, upgrades, and runs a handler for every connection.
///
/// ```swift
/// let server = WebSocketServer { connection, request in
///     for try await message in connection.messages { try await connection.send(message) }
/// }
/// try await server.run()
/// ```
public struct WebSocketServer: Service {
    /// Runs for as long as its connection is open.
    ///
    /// When it returns the connection is closed with 1000, when it throws with 1011.
    public typealias Handler = @Sendable (WebSocketConnection, UpgradeRequest) async throws -> Void

    /// Who serves a connection.
    enum Serving: Sendable {
        case task(Handler)
        case inline(@Sendable (UpgradeRequest) -> any InlineHandler)
    }

    let configuration: WebSocketServerConfiguration
    let upgrade: (@Sendable (UpgradeRequest) async -> UpgradeDecision)?
    let http: @Sendable (RequestHead) async -> HTTPResponse
    let handler: Serving
    /// Answers the requests that ask for no WebSocket, in place of `http`; over HTTP/2 that still answers.
    package var guests: GuestServer?

    /// Makes a server; nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - configuration: Where to listen, and what a connection may cost.
    ///   - upgrade: Decides about every request for a WebSocket, within the handshake's time; nil: all are accepted, at once.
    ///   - http: Answers requests for anything else, without their bodies; by default with 404.
    ///   - handler: Serves a connection.
    public init(
        configuration: WebSocketServerConfiguration = WebSocketServerConfiguration(),
        upgrade: (@Sendable (UpgradeRequest) async -> UpgradeDecision)? = nil,
        http: @escaping @Sendable (RequestHead) async -> HTTPResponse = { _ in .notFound },
        handler: @escaping Handler
    ) {
        (self.configuration, self.upgrade, self.http, self.handler) = (configuration, upgrade, http, .task(handler))
    }

    /// Makes a server whose connections are served in line with their I/O; nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - configuration: Where to listen, and what a connection may cost.
    ///   - upgrade: Decides about every request for a WebSocket, within the handshake's time; nil: all are accepted, at once.
    ///   - http: Answers requests for anything else, without their bodies; by default with 404.
    ///   - inline: Makes the handler of a connection, on its event loop.
    public init(
        configuration: WebSocketServerConfiguration = WebSocketServerConfiguration(),
        upgrade: (@Sendable (UpgradeRequest) async -> UpgradeDecision)? = nil,
        http: @escaping @Sendable (RequestHead) async -> HTTPResponse = { _ in .notFound },
        inline: @escaping @Sendable (UpgradeRequest) -> any InlineHandler
    ) {
        (self.configuration, self.upgrade, self.http, self.handler) = (configuration, upgrade, http, .inline(inline))
    }

    /// Serves until a graceful shutdown, which says 1001 to every client and waits for them, or until cancelled, which drops them.
    public func run() async throws { try await run(onListening: { _ in }) }

    /// Serves as ``run()`` does, and tells once where it listens.
    public func run(onListening: @Sendable (RunningServer) async -> Void) async throws {
        try await withRunning { server in
            await onListening(server)
            // Cancellation is how a service ends that is not asked to end gracefully.
            try? await gracefulShutdown()
            try Task.checkCancellation()
        }
    }

    /// Serves while `body` runs, then shuts down gracefully.
    ///
    /// - Throws: What `body` throws; `WebSocketError` if the address is taken or the certificate cannot be read.
    public func withRunning<Result: Sendable>(_ body: (RunningServer) async throws -> Result) async throws -> Result {
        let channels = ChannelRegistry(configuration)
        let guestList = guests.map { GuestList($0, channels) }
        let arrivals = MultiThreadedEventLoopGroup.singleton.makeIterator().map { Arrivals(on: $0) }
        let meters = ServerMeters(configuration.metrics ?? MetricsSystem.factory)
        let listener = try await listen(channels, arrivals, guestList, meters)
        let server: RunningServer
        if let path = configuration.unixSocket {
            server = RunningServer(host: "localhost", port: 0, socketPath: path, isSecure: configuration.tls != nil, channels: channels)
        } else if let address = listener.channel.localAddress, let host = address.ipAddress, let port = address.port {
            server = RunningServer(host: host, port: port, socketPath: nil, isSecure: configuration.tls != nil, channels: channels)
        } else {
            try await listener.channel.close()
            throw WebSocketError(TransportError(.invalidConfiguration, "the server has no address"))
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await serve(arrivals, guestList, channels) }
            if let meters {
                group.addTask { while (try? await Task.sleep(for: ServerMeters.watchInterval)) != nil { meters.tellTraffic() } }
            }
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body(server)) } catch { result = .failure(error) }
            listener.file?.remove()
            try? await listener.channel.close()
            for arrivals in arrivals { arrivals.finish() }
            async let goodbye: Void = channels.close()
            group.addTask { try await Task.sleep(for: configuration.shutdownGrace) }
            // Whichever comes first: the last handler's end, or the end of our patience.
            _ = try? await group.next()
            group.cancelAll()
            channels.drop()
            await goodbye
            return try result.get()
        }
    }

    /// Serves until there is nobody left, and will be nobody.
    private func serve(_ arrivals: [Arrivals], _ guestList: GuestList?, _ channels: ChannelRegistry) async {
        await withDiscardingTaskGroup { group in
            if let guestList { group.addTask { await guestList.run() } } else { group.addTask { await channels.drained() } }
            guard case .task(let handler) = handler else { return }
            for arrivals in arrivals {
                let reception = Reception(arrivals, channels, configuration, handler)
                group.addTask { await reception.run(on: arrivals.makeActor()) }
            }
        }
    }
}

/// A server that listens.
public struct RunningServer: Sendable {
    /// The address it listens on; `localhost` for a Unix domain socket.
    public let host: String
    /// The port it listens on; 0 for a Unix domain socket.
    public let port: Int
    /// The Unix domain socket that it listens on; nil: it listens on a port.
    public let socketPath: String?
    /// Whether it speaks `wss`.
    public let isSecure: Bool
    let channels: ChannelRegistry

    /// How many clients are connected, handshakes included.
    public var connectionCount: Int { channels.count }

    /// The URL of a path on this server.
    public func url(_ path: String = "/") -> String {
        if let socketPath, let url = try? WebSocketURL(unixSocket: socketPath, target: path, isSecure: isSecure) { return url.string }
        return "\(isSecure ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }
}

/// Starts the handlers of the connections that open on one event loop.
///
/// An object, so that a connection's task holds a reference to all that it needs.
final class Reception: Sendable {
    private let arrivals: Arrivals
    private let channels: ChannelRegistry
    private let handler: WebSocketServer.Handler
    private let placement: HandlerPlacement
    private let pingTimeout: Duration

    init(
        _ arrivals: Arrivals, _ channels: ChannelRegistry, _ configuration: WebSocketServerConfiguration,
        _ handler: @escaping WebSocketServer.Handler
    ) {
        (self.arrivals, self.channels, self.handler) = (arrivals, channels, handler)
        (placement, pingTimeout) = (configuration.handlers, configuration.timeouts.ping)
    }

    /// Runs until no more connections will come, and the last handler has returned.
    func run(on loop: isolated LoopActor) async {
        await withDiscardingTaskGroup { group in
            while let one = await arrivals.next(on: loop) {
                switch placement {
                case .pool: group.addTask { await self.serve(one, on: nil) }
                case .eventLoop:
                    if #available(macOS 26, iOS 26, *) {
                        group.addImmediateTask { await self.serve(one, on: loop) }
                    } else {
                        group.addTask { await self.serve(one, on: loop) }
                    }
                }
            }
        }
    }

    private func serve(_ one: Arrivals.Arrival, on loop: isolated LoopActor?) async {
        if !channels.open(one.socket) { _ = await one.socket.close(.shutdown) }
        let connection = WebSocketConnection(one.socket, pingTimeout: pingTimeout)
        do {
            try await handler(connection, UpgradeRequest(one.head, from: one.peer))
            await connection.close()
        } catch {
            await connection.close(code: .internalError)
        }
        channels.end(one.socket.id)
    }
}
