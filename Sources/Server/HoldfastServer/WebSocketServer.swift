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

/// A WebSocket server: listens, upgrades connections, and runs a handler for each of them.
///
/// ```swift
/// let server = WebSocketServer { connection, request in
///     for try await message in connection.messages { try await connection.send(message) }
/// }
/// try await server.run()
/// ```
public struct WebSocketServer: Service {
    /// The handler of a connection, which runs while the connection is open.
    ///
    /// The connection is closed with 1000 when it returns, and with 1011 when it throws.
    public typealias Handler = @Sendable (WebSocketConnection, UpgradeRequest) async throws -> Void

    /// How connections are served.
    enum Serving: Sendable {
        case task(Handler)
        case inline(@Sendable (UpgradeRequest) -> any InlineHandler)
    }

    let configuration: WebSocketServerConfiguration
    let upgrade: (@Sendable (UpgradeRequest) async -> UpgradeDecision)?
    let http: @Sendable (RequestHead) async -> HTTPResponse
    let handler: Serving
    /// Answers plain HTTP requests instead of `http`; over HTTP/2, `http` still answers.
    package var guests: GuestServer?

    /// Creates a server.
    ///
    /// It does nothing until it is run.
    ///
    /// - Parameters:
    ///   - configuration: Where to listen, and the limits of connections.
    ///   - upgrade: Decides about every request for a WebSocket, within the handshake timeout; nil accepts all at once.
    ///   - http: Answers plain HTTP requests, without their bodies; by default with 404.
    ///   - handler: Serves a connection.
    public init(
        configuration: WebSocketServerConfiguration = WebSocketServerConfiguration(),
        upgrade: (@Sendable (UpgradeRequest) async -> UpgradeDecision)? = nil,
        http: @escaping @Sendable (RequestHead) async -> HTTPResponse = { _ in .notFound },
        handler: @escaping Handler
    ) {
        (self.configuration, self.upgrade, self.http, self.handler) = (configuration, upgrade, http, .task(handler))
    }

    /// Creates a server whose connections are served inline, on their event loops.
    ///
    /// It does nothing until it is run.
    ///
    /// - Parameters:
    ///   - configuration: Where to listen, and the limits of connections.
    ///   - upgrade: Decides about every request for a WebSocket, within the handshake timeout; nil accepts all at once.
    ///   - http: Answers plain HTTP requests, without their bodies; by default with 404.
    ///   - inline: Creates the handler of a connection, on its event loop.
    public init(
        configuration: WebSocketServerConfiguration = WebSocketServerConfiguration(),
        upgrade: (@Sendable (UpgradeRequest) async -> UpgradeDecision)? = nil,
        http: @escaping @Sendable (RequestHead) async -> HTTPResponse = { _ in .notFound },
        inline: @escaping @Sendable (UpgradeRequest) -> any InlineHandler
    ) {
        (self.configuration, self.upgrade, self.http, self.handler) = (configuration, upgrade, http, .inline(inline))
    }

    /// Serves until a graceful shutdown, which closes all connections with 1001 and waits for them, or until cancelled, which drops them.
    public func run() async throws { try await run(onListening: { _ in }) }

    /// Serves as ``run()`` does, and reports once where it listens.
    public func run(onListening: @Sendable (RunningServer) async -> Void) async throws {
        try await withRunning { server in
            await onListening(server)
            // A service that is not asked to shut down gracefully ends by cancellation.
            try? await gracefulShutdown()
            try Task.checkCancellation()
        }
    }

    /// Serves while `body` runs, then shuts down gracefully.
    ///
    /// - Throws: The error of `body`; `WebSocketError` if the address is in use or the certificate cannot be read.
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
                group.addTask { while (try? await Task.sleep(for: ServerMeters.watchInterval)) != nil { meters.notifyTraffic() } }
            }
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body(server)) } catch { result = .failure(error) }
            listener.file?.remove()
            try? await listener.channel.close()
            for arrivals in arrivals { arrivals.finish() }
            async let goodbye: Void = channels.close()
            group.addTask { try await Task.sleep(for: configuration.shutdownGrace) }
            // Waits for the end of the last handler, or for the shutdown time limit.
            _ = try? await group.next()
            group.cancelAll()
            channels.drop()
            await goodbye
            return try result.get()
        }
    }

    /// Serves until no connection is left and none can come.
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

/// A running server.
public struct RunningServer: Sendable {
    /// The address on which it listens; `localhost` for a Unix domain socket.
    public let host: String
    /// The port on which it listens; 0 for a Unix domain socket.
    public let port: Int
    /// The Unix domain socket on which it listens; nil if it listens on a port.
    public let socketPath: String?
    /// Whether it uses `wss`.
    public let isSecure: Bool
    let channels: ChannelRegistry

    /// The number of connected clients, including those in the handshake.
    public var connectionCount: Int { channels.count }

    /// Returns the URL of a path on this server.
    public func url(_ path: String = "/") -> String {
        if let socketPath, let url = try? WebSocketURL(unixSocket: socketPath, target: path, isSecure: isSecure) { return url.string }
        return "\(isSecure ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }
}

/// Starts the handlers of the connections that open on one event loop.
///
/// It is a class, so that a connection's task holds only one reference to everything it needs.
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

    /// Runs until no more connections can come and the last handler has returned.
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
