public import HoldfastServer
public import ServiceLifecycle
public import WebSocketRuntime
import Holdfast
import Logging
import MachineCore
import Metrics
import NIOCore
import NIOPosix
import WAMPCore

/// A router of WAMP v2: realms with a broker and a dealer, for development, tests and small services.
///
/// ```swift
/// let router = WAMPRouter()
/// try await router.run()                          // over WebSocket, at ws://127.0.0.1:PORT/ws
/// await router.serve(transport: serverEnd)        // or any transport, such as one in memory
/// ```
/// It keeps all it knows in memory, in one process: sessions, subscriptions, registrations, retained events and history end with it. What
/// it keeps is bounded by numbers, in `RouterPolicy`, and each of those things may be as large as a message. It serves until it is
/// stopped, once; another life is another router.
public final class WAMPRouter: Service, Sendable {
    private let configuration: WAMPRouterConfiguration
    let core: RouterCore

    /// Makes a router; it serves nobody until it is run, or given a transport.
    public convenience init(_ configuration: WAMPRouterConfiguration = WAMPRouterConfiguration()) {
        self.init(configuration, clock: ContinuousClock())
    }

    /// The same for tests.
    ///
    /// - Parameters:
    ///   - configuration: All that can be chosen.
    ///   - clock: What its deadlines are measured with.
    ///   - seed: What its ids follow from; by default they are drawn.
    public init<C: Clock>(
        _ configuration: WAMPRouterConfiguration = WAMPRouterConfiguration(), clock: C, seed: UInt64 = .random(in: 0 ... .max)
    ) where C.Duration == Duration {
        self.configuration = configuration
        let loops = MultiThreadedEventLoopGroup.singleton.makeIterator().map { $0 }
        core = RouterCore(configuration, seed: seed, time: LinkTime(clock), loops: loops)
    }

    deinit { core.finish() }

    /// What it has done, and has at present.
    public var status: RouterStatus { core.tally.withLockedValue(\.self) }

    /// What tests let go wrong.
    public var faults: RouterFaults { RouterFaults(core: core) }

    /// Serves one client over a transport, until its connection has ended; if the task is cancelled, the connection is cut.
    ///
    /// Its serialization is the one that the transport's subprotocol stands for, and JSON if there is none.
    public func serve(transport: any MessageTransport) async {
        guard let port = core.host.port(number: 0) else { return transport.abort() }
        await TransportExit(transport, at: port).serve()
    }

    /// Serves over WebSocket until a graceful shutdown, which says goodbye to every session; or until cancelled.
    ///
    /// - Throws: `WebSocketError` if the address is taken or the certificate cannot be read.
    public func run() async throws {
        try await withRunning { _ in
            try? await gracefulShutdown()
            try Task.checkCancellation()
        }
    }

    /// Serves over WebSocket while `body` runs, then stops gracefully.
    ///
    /// - Throws: As ``run()`` does, and what `body` throws.
    public func withRunning<Result: Sendable>(_ body: (RunningServer) async throws -> Result) async throws -> Result {
        let settings = configuration.serverConfiguration()
        let core = core
        let door = Door(
            of: "router", at: "/ws", subprotocols: WAMPSerialization.allCases.map(\.subprotocol), isBehindProxy: configuration.isBehindProxy
        )
        let server = WebSocketServer(configuration: settings) { request in
            door.decide(request, isStopping: core.host.isStopping) { address in core.seats.withLockedValue { $0.hasRoom(for: address) } }
        } inline: { request in
            core.host.handler { SocketExit(request, at: $0, by: door) }
        }
        let factory = settings.metrics ?? MetricsSystem.factory
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let meters = RouterMeters(factory)
                while (try? await Task.sleep(for: .seconds(1))) != nil { meters.tell(core.tally.withLockedValue(\.self)) }
                meters.tell(core.tally.withLockedValue(\.self))
            }
            defer { group.cancelAll() }
            return try await server.withRunning { running in
                let result: Swift.Result<Result, any Error>
                do { result = .success(try await body(running)) } catch { result = .failure(error) }
                await core.stop()
                return try result.get()
            }
        }
    }

    /// Says goodbye to every session, and waits for the answers, though not for longer than ``RouterPolicy/goodbyePatience`` and 2 s.
    ///
    /// Nobody new is let in from then on.
    public func stop() async { await core.stop() }
}
