import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP relay on this machine that misbehaves on demand: put it between a client and a server, and cut, stall, delay or refuse.
///
/// ```swift
/// let link = try await FaultyLink.start(to: server.port)
/// let socket = WebSocket("ws://127.0.0.1:\(link.port)/")
/// link.cut()
/// ```
/// What one side sends is read no faster than the other side takes it, so the link holds little and back-pressure passes through.
public final class FaultyLink: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isRefusing = false
        var accepted = 0
    }
    private let listener: any Channel
    private let state: NIOLockedValueBox<State>
    private let conditions: LinkConditions

    /// The port on 127.0.0.1 to connect to.
    public let port: Int

    /// Starts to relay to a port.
    public static func start(to port: Int, host: String = "127.0.0.1") async throws -> FaultyLink {
        let (state, conditions) = (NIOLockedValueBox(State()), LinkConditions())
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { near in
                guard welcome(near, in: state) else { return near.close() }
                return ClientBootstrap(group: near.eventLoop)
                    .channelOption(.autoRead, value: false)
                    .channelOption(.allowRemoteHalfClosure, value: true)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connect(host: host, port: port)
                    .flatMap { far in
                        near.eventLoop.makeCompletedFuture {
                            keep(far, in: state)
                            do {
                                try RelayHandler.join(near, far, conditions)
                            } catch {
                                far.close(promise: nil)  // The near side went away meanwhile.
                                throw error
                            }
                        }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return FaultyLink(listener, state, conditions)
    }

    private init(_ listener: any Channel, _ state: NIOLockedValueBox<State>, _ conditions: LinkConditions) {
        (self.listener, self.state, self.conditions) = (listener, state, conditions)
        port = listener.localAddress?.port ?? 0
    }

    deinit {
        listener.close(promise: nil)
        cut()
    }

    /// How many connections were tried so far.
    public var accepted: Int { state.withLockedValue(\.accepted) }

    /// How long bytes take from one side to the other, each way; by default no time.
    ///
    /// A change counts for what is sent from then on.
    public var latency: Duration {
        get { conditions.latency }
        set { conditions.latency = newValue }
    }

    /// Breaks every connection at once, what is under way is lost; new ones are welcome.
    public func cut() {
        for channel in state.withLockedValue({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }

    /// Passes nothing on from now, in both directions, and breaks nothing: a half-open link.
    ///
    /// Neither side hears of it, not even when the other goes away. New connections are taken, and stalled as well.
    public func stall() { conditions.isStalled = true }

    /// Passes everything on again, and what had waited.
    public func resume() { conditions.isStalled = false }

    /// Hangs up on whoever connects from now on.
    public func refuse() { state.withLockedValue { $0.isRefusing = true } }

    /// Welcomes new connections again.
    public func welcome() { state.withLockedValue { $0.isRefusing = false } }

    /// Breaks everything and stops to listen.
    public func stop() async throws {
        try await listener.close()
        cut()
    }

    private static func welcome(_ channel: any Channel, in state: NIOLockedValueBox<State>) -> Bool {
        let isWelcome = state.withLockedValue { state in
            state.accepted += 1
            return !state.isRefusing
        }
        if isWelcome { keep(channel, in: state) }
        return isWelcome
    }

    private static func keep(_ channel: any Channel, in state: NIOLockedValueBox<State>) {
        let id = ObjectIdentifier(channel)
        state.withLockedValue { $0.channels[id] = channel }
        channel.closeFuture.whenComplete { _ in
            state.withLockedValue { $0.channels[id] = nil }
        }
    }
}
