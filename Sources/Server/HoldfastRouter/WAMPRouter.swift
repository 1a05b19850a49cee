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
///
/// It keeps everything in memory, in one process: sessions, subscriptions, registrations, retained events and history are lost when it
/// ends. `RouterPolicy` limits the number of all these objects; each may be as large as a message. A router can be run and stopped only
/// once.
public final class WAMPRouter: Service, Sendable {
    private let configuration: WAMPRouterConfiguration
    let core: RouterCore

    /// Creates a router.
    ///
    /// It serves no clients until it is run, or given a transport.
    public convenience init(_ configuration: WAMPRouterConfiguration = WAMPRouterConfiguration()) {
        self.init(configuration, clock: ContinuousClock())
    }

    /// Creates a router for tests.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - clock: The clock for its deadlines.
    ///   - seed: The seed of its ids; random by default.
    public init<C: Clock>(
        _ configuration: WAMPRouterConfiguration = WAMPRouterConfiguration(), clock: C, seed: UInt64 = .random(in: 0 ... .max)
    ) where C.Duration == Duration {
        self.configuration = configuration
        let loops = MultiThreadedEventLoopGroup.singleton.makeIterator().map { $0 }
        core = RouterCore(configuration, seed: seed, time: LinkTime(clock), loops: loops)
    }

    deinit { core.finish() }

    /// The counts and the present state.
    public var status: RouterStatus { core.tally.withLockedValue({ $0 }) }

    /// Fault injection for tests.
    public var faults: RouterFaults { RouterFaults(core: core) }

    /// Serves one client over a transport, until its connection has ended.
    ///
    /// If the task is cancelled, the connection is cut.
    ///
    /// The transport's subprotocol determines the serialization; without one it is JSON.
    public func serve(transport: any MessageTransport) async {
        guard let port = core.host.port(number: 0) else { return transport.abort() }
        await TransportOutput(transport, at: port).serve()
    }

    /// Serves over WebSocket until a graceful shutdown, which says goodbye to every session, or until cancelled.
    ///
    /// - Throws: `WebSocketError` if the address is in use or the certificate cannot be read.
    public func run() async throws {
        try await withRunning { _ in
            try? await gracefulShutdown()
            try Task.checkCancellation()
        }
    }

    /// Serves over WebSocket while `body` runs, then stops gracefully.
    ///
    /// - Throws: The errors of ``run()``, and those of `body`.
    public func withRunning<Result: Sendable>(_ body: (RunningServer) async throws -> Result) async throws -> Result {
        let settings = configuration.serverConfiguration()
        let core = core
        let upgradePolicy = UpgradePolicy(
            of: "router", at: "/ws", subprotocols: WAMPSerialization.allCases.map(\.subprotocol), isBehindProxy: configuration.isBehindProxy
        )
        let server = WebSocketServer(configuration: settings) { request in
            upgradePolicy.decide(request, isStopping: core.host.isStopping) { address in
                core.slots.withLockedValue { $0.hasRoom(for: address) }
            }
        } inline: { request in
            core.host.handler { SocketOutput(request, at: $0, by: upgradePolicy) }
        }
        let factory = settings.metrics ?? MetricsSystem.factory
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let meters = RouterMeters(factory)
                while (try? await Task.sleep(for: .seconds(1))) != nil { meters.notify(core.tally.withLockedValue({ $0 })) }
                meters.notify(core.tally.withLockedValue({ $0 }))
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

    /// Says goodbye to every session, and waits for the answers, but not longer than ``RouterPolicy/goodbyePatience`` plus 2 s.
    ///
    /// No new clients are accepted from then on.
    public func stop() async { await core.stop() }
}
