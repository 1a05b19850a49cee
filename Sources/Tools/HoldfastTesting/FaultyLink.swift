import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP relay on this machine that misbehaves on demand: put it between a client and a server, and cut, stall or refuse.
///
/// ```swift
/// let link = try await FaultyLink.start(to: server.port)
/// let socket = WebSocket("ws://127.0.0.1:\(link.port)/")
/// link.cut()
/// ```
public final class FaultyLink: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isStalled = false
        var isRefusing = false
        var accepted = 0
    }
    private let listener: any Channel
    private let state: NIOLockedValueBox<State>

    /// The port on 127.0.0.1 to connect to.
    public let port: Int

    /// Starts to relay to a port.
    public static func start(to port: Int, host: String = "127.0.0.1") async throws -> FaultyLink {
        let state = NIOLockedValueBox(State())
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { near in
                let isWelcome = state.withLockedValue { state in
                    state.accepted += 1
                    return !state.isRefusing
                }
                guard isWelcome else { return near.close() }
                return ClientBootstrap(group: near.eventLoop)
                    .channelOption(.autoRead, value: false)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connect(host: host, port: port)
                    .flatMap { far in
                        near.eventLoop.makeCompletedFuture {
                            try near.pipeline.syncOperations.addHandler(RelayHandler(to: far))
                            try far.pipeline.syncOperations.addHandler(RelayHandler(to: near))
                            for channel in [near, far] { Self.keep(channel, in: state) }
                        }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return FaultyLink(listener, state)
    }

    private init(_ listener: any Channel, _ state: NIOLockedValueBox<State>) {
        (self.listener, self.state) = (listener, state)
        port = listener.localAddress?.port ?? 0
    }

    deinit {
        listener.close(promise: nil)
        cut()
    }

    /// How many connections were tried so far.
    public var accepted: Int { state.withLockedValue(\.accepted) }

    /// Breaks every connection at once; new ones are welcome.
    public func cut() {
        for channel in state.withLockedValue({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }

    /// Passes nothing on from now, in both directions, and breaks nothing: a half-open link.
    public func stall() { setStalled(true) }

    /// Passes everything on again, and what had waited.
    public func resume() { setStalled(false) }

    /// Hangs up on whoever connects from now on.
    public func refuse() { state.withLockedValue { $0.isRefusing = true } }

    /// Welcomes new connections again.
    public func welcome() { state.withLockedValue { $0.isRefusing = false } }

    /// Breaks everything and stops to listen.
    public func stop() async throws {
        try await listener.close()
        cut()
    }

    private func setStalled(_ isStalled: Bool) {
        let channels = state.withLockedValue { state in
            state.isStalled = isStalled
            return Array(state.channels.values)
        }
        for channel in channels { channel.setOption(.autoRead, value: !isStalled).whenComplete { _ in } }
    }

    private static func keep(_ channel: any Channel, in state: NIOLockedValueBox<State>) {
        let id = ObjectIdentifier(channel)
        let isStalled = state.withLockedValue { state in
            state.channels[id] = channel
            return state.isStalled
        }
        channel.setOption(.autoRead, value: !isStalled).whenComplete { _ in }
        channel.closeFuture.whenComplete { _ in
            state.withLockedValue { $0.channels[id] = nil }
        }
    }
}

/// Passes bytes on to the other side of a relay.
private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
