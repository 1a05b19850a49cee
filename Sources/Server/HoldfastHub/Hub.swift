import Holdfast
public import HoldfastServer
import Logging
import MachineCore
import Metrics
import NIOCore
import NIOPosix
import RoomCore
import RoomsWire
public import ServiceLifecycle
import WebSocketRuntime

#if !Hub
    #error("HoldfastHub needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Hub\"])")
#endif

/// A hub of rooms: it stores publications in a log on disk, in one order for each room, and delivers them to every member.
///
/// It speaks the protocol of docs/rooms-protocol.md over WebSocket at `/rooms`. On the same port it serves HTTP: a page to try it with,
/// its status, its metrics, and an API for programs that publish without joining.
public struct Hub: Service {
    private let configuration: HubConfiguration
    private let bus: any EphemeralBus

    /// Creates a hub; nothing happens until it runs.
    public init(_ configuration: HubConfiguration) { self.init(configuration, bus: LocalBus()) }

    /// Creates a hub with a bus to the other nodes of the hub.
    package init(_ configuration: HubConfiguration, bus: any EphemeralBus) { (self.configuration, self.bus) = (configuration, bus) }

    /// Serves until a graceful shutdown or until cancelled.
    ///
    /// A graceful shutdown tells every client when to come back, and acknowledges the publications that the hub has accepted.
    ///
    /// - Throws: ``HubError`` if the configuration or the log cannot be used, `WebSocketError` if the address is in use.
    public func run() async throws {
        try await withRunning { _ in
            try? await gracefulShutdown()
            try Task.checkCancellation()
        }
    }

    /// Serves while `body` runs, then stops gracefully.
    ///
    /// - Throws: The errors of ``run()``, and those of `body`.
    public func withRunning<Result: Sendable>(_ body: (RunningHub) async throws -> Result) async throws -> Result {
        let log: SQLiteRoomLog
        do {
            log = try await SQLiteRoomLog(
                directory: configuration.data, retention: configuration.retention, drawsNewEpochs: configuration.drawsNewEpochs)
        } catch {
            throw HubError.log("\(error)")
        }
        if !log.opening.renewals.isEmpty {
            let reasons = log.opening.renewals.map(\.description).joined(separator: "; ")
            configuration.logger.warning("all rooms have new epochs: clients get snapshots", metadata: ["reason": "\(reasons)"])
        }
        for sentence in log.privacy { configuration.logger.warning("\(sentence)") }
        if log.proofs == nil {
            configuration.logger.warning(
                "cursors get no proofs until the next start: the log's disk is full or broken, so their key could not be stored")
        }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await serve(log, body)) } catch { result = .failure(error) }
        await log.close()
        return try result.get()
    }

    private func serve<Result: Sendable>(_ log: SQLiteRoomLog, _ body: (RunningHub) async throws -> Result) async throws -> Result {
        var settings = try configuration.serverConfiguration()
        let registry = PrometheusRegistry()
        // The hub's own metrics page always gets the metrics.
        let outside = settings.metrics ?? MetricsSystem.factory
        let metrics: any MetricsFactory =
            outside is NOOPMetricsHandler ? registry : MultiplexMetricsHandler(factories: [registry, outside])
        settings.metrics = metrics
        let machine = HubMachine(
            policy: configuration.policy, node: configuration.node, incarnation: .random(in: 1 ... .max), seed: .random(in: 0 ... .max),
            proofs: log.proofs)
        let core = HubCore(
            configuration, machine: machine, log: log, bus: bus,
            authority: DevelopmentAuthority(other: configuration.authority, isOn: configuration.takesDevelopmentTokens),
            loops: MultiThreadedEventLoopGroup.singleton.makeIterator().map { $0 }, names: log.names)
        let status = HubStatus(core, log)
        let pages = HubPages(core: core, log: log, status: status, registry: registry, configuration: configuration)
        let server = server(settings, core, pages)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await core.gate.run { core.host.submit([$0]) } }
            group.addTask { await core.logDriver.run { replies in core.host.take(replies.map { .log($0) }) } }
            group.addTask {
                let meters = HubMeters(metrics)
                await status.watch { meters.notify($0) }
            }
            group.addTask { await tend(log, core) }
            core.start()
            if log.opening.time > 0 { core.host.submit([.log(.time(log.opening.time))]) }
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(
                    try await server.withRunning { running in
                        let result = try await body(RunningHub(server: running, core: core))
                        status.finish()
                        await core.stop()
                        return result
                    })
            } catch {
                result = .failure(error)
            }
            core.finish()
            group.cancelAll()
            try await group.waitForAll()
            return try result.get()
        }
    }

    private func server(_ settings: WebSocketServerConfiguration, _ core: HubCore, _ pages: HubPages) -> WebSocketServer {
        let upgradePolicy = UpgradePolicy(
            of: "hub", at: "/rooms", subprotocols: RoomsEncoding.allCases.map(\.subprotocol), takesNone: true,
            isBehindProxy: configuration.isBehindProxy)
        var server = WebSocketServer(configuration: settings) { request in
            upgradePolicy.decide(request, isStopping: core.host.isStopping)
        } inline: { request in
            core.host.handler { HubConnection(Caller(request, by: upgradePolicy), at: $0) }
        }
        server.guests = pages.guests()
        return server
    }

    /// Enforces retention, in small steps.
    private func tend(_ log: SQLiteRoomLog, _ core: HubCore) async {
        // Time while the machine sleeps does not count as running time of the hub.
        let (clock, logger) = (SuspendingClock(), configuration.logger)
        let start = clock.now
        var doubts = false
        repeat {
            var care = LogCare(hasMore: true)
            while care.hasMore, !Task.isCancelled {
                // Measured each time: deleting much takes minutes, in which the disk may fill up or get room again.
                if let space = log.space(within: configuration.quotas) { core.host.submit([.space(space)]) }
                care = await log.tend(now: WallClock.milliseconds, ran: (clock.now - start).wholeNanoseconds / 1_000_000)
                core.host.submit(care.replies.map { .log($0) } + (care.time > 0 ? [.log(.time(care.time))] : []))
            }
            if let doubt = care.doubt, !doubts { logger.error("the clock is not trusted", metadata: ["reason": "\(doubt)"]) }
            if care.doubt == nil, doubts { logger.notice("the clock is trusted again") }
            doubts = care.doubt != nil
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }
}

/// A running hub.
public struct RunningHub: Sendable {
    /// The server that the hub listens with.
    public let server: RunningServer
    let core: HubCore

    /// The URL for clients: `ws://host:port/rooms`.
    public var url: String { server.url("/rooms") }

    /// Publishes as the server, as `POST /api/rooms/{room}/messages` does.
    ///
    /// - Parameters:
    ///   - room: The room to publish in.
    ///   - user: The user in whose name to publish.
    ///   - content: The content of the publication.
    ///   - id: The ID of the publication; repeated publications with the same ID are stored once.
    /// - Returns: The position of the publication in the room, once it is on disk.
    /// - Throws: ``PublishingRefusal``, or ``HubError/stopped``.
    @discardableResult
    public func publish(
        to room: RoomName, from user: UserName, _ content: Publication.Content, id: MessageID
    ) async throws -> HubPublication {
        try await core.publish(to: room, from: user, content, id: id)
    }
}

/// The reason why a hub does not run, or does not carry out a request.
public enum HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A value in the configuration is wrong or conflicts with another; it has to be changed.
    case configuration(String)
    /// A key cannot be used.
    case key(String)
    /// The log cannot be opened or copied.
    case log(String)
    /// The hub is stopping or overloaded; try again later.
    case stopped

    /// What failed.
    public var description: String {
        switch self {
        case .configuration(let words): "the configuration is wrong: \(words)"
        case .key(let words): "a key cannot be used: \(words)"
        case .log(let words): "the log: \(words)"
        case .stopped: "the hub is stopping or overloaded"
        }
    }
}
