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

#if !Hub
    #error("HoldfastHub needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Hub\"])")
#endif

/// A hub of rooms: it keeps what is published in a log on disk, in one order for each room, and brings it to every member.
///
/// It speaks the protocol of docs/rooms-protocol.md over WebSocket at `/rooms`, and on the same port HTTP: a page to try it with, its status, its
/// metrics, and an API for programs that publish without joining.
public struct Hub: Service {
    private let configuration: HubConfiguration
    private let bus: any EphemeralBus

    /// Makes a hub; nothing happens until it is run.
    public init(_ configuration: HubConfiguration) { self.init(configuration, bus: LocalBus()) }

    /// The same, with a bus to the other nodes of the hub.
    package init(_ configuration: HubConfiguration, bus: any EphemeralBus) { (self.configuration, self.bus) = (configuration, bus) }

    /// Serves until a graceful shutdown, which tells every client when to come back and acks what it has taken; or until cancelled.
    ///
    /// - Throws: ``HubError`` if the configuration or the log is not fit, `WebSocketError` if the address is taken.
    public func run() async throws {
        try await withRunning { _ in
            try? await gracefulShutdown()
            try Task.checkCancellation()
        }
    }

    /// Serves while `body` runs, then stops gracefully.
    ///
    /// - Throws: As ``run()`` does, and what `body` throws.
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
                "cursors get no proofs until the next start: the log's disk is full or broken, and took no key to make them with")
        }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await serve(log, body)) } catch { result = .failure(error) }
        await log.close()
        return try result.get()
    }

    private func serve<Result: Sendable>(_ log: SQLiteRoomLog, _ body: (RunningHub) async throws -> Result) async throws -> Result {
        var settings = try configuration.serverConfiguration()
        let registry = PrometheusRegistry()
        // The hub's own page of metrics has them in any case.
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
            group.addTask { await core.desk.run { replies in core.host.take(replies.map { .log($0) }) } }
            group.addTask {
                let meters = HubMeters(metrics)
                await status.watch { meters.tell($0) }
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
        let door = Door(
            of: "hub", at: "/rooms", subprotocols: RoomsEncoding.allCases.map(\.subprotocol), takesNone: true,
            isBehindProxy: configuration.isBehindProxy)
        var server = WebSocketServer(configuration: settings) { request in
            door.decide(request, isStopping: core.host.isStopping)
        } inline: { request in
            core.host.handler { Visitor(Caller(request, by: door), at: $0) }
        }
        server.guests = pages.guests()
        return server
    }

    /// Does what retention asks for, in small steps.
    private func tend(_ log: SQLiteRoomLog, _ core: HubCore) async {
        // Time that the machine sleeps is none in which the hub runs.
        let (clock, logger) = (SuspendingClock(), configuration.logger)
        let start = clock.now
        var doubts = false
        repeat {
            var care = LogCare(hasMore: true)
            while care.hasMore, !Task.isCancelled {
                // Each time: to let much go takes minutes, in which the disk may get full, or have room again.
                if let space = log.space(within: configuration.quotas) { core.host.submit([.space(space)]) }
                care = await log.tend(now: HubCalendar.now, ran: (clock.now - start).wholeNanoseconds / 1_000_000)
                core.host.submit(care.replies.map { .log($0) } + (care.time > 0 ? [.log(.time(care.time))] : []))
            }
            if let doubt = care.doubt, !doubts { logger.error("the clock is not believed", metadata: ["reason": "\(doubt)"]) }
            if care.doubt == nil, doubts { logger.notice("the clock is believed again") }
            doubts = care.doubt != nil
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }
}

/// A hub that runs.
public struct RunningHub: Sendable {
    /// Where it listens.
    public let server: RunningServer
    let core: HubCore

    /// Where clients connect: `ws://host:port/rooms`.
    public var url: String { server.url("/rooms") }

    /// Publishes in the name of the server, as `POST /api/rooms/{room}/messages` does.
    ///
    /// - Parameters:
    ///   - room: Where.
    ///   - user: Who it is from.
    ///   - content: What it says.
    ///   - id: Its name; what is published twice under one name is stored once.
    /// - Returns: Where it stands in the room's order, once it is on disk.
    /// - Throws: ``PublishingRefusal``, or ``HubError/stopped``.
    @discardableResult
    public func publish(
        to room: RoomName, from user: UserName, _ content: Publication.Content, id: MessageID
    ) async throws -> HubPublication {
        try await core.publish(to: room, from: user, content, id: id)
    }
}

/// Why a hub does not run, or does not do what it was asked.
public enum HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A choice of the configuration is wrong or does not fit another; it has to be changed.
    case configuration(String)
    /// A key cannot be used.
    case key(String)
    /// The log cannot be opened or copied.
    case log(String)
    /// The hub stops, or has too much to do; ask again later.
    case stopped

    /// What failed.
    public var description: String {
        switch self {
        case .configuration(let words): "the configuration is wrong: \(words)"
        case .key(let words): "a key cannot be used: \(words)"
        case .log(let words): "the log: \(words)"
        case .stopped: "the hub stops, or has too much to do"
        }
    }
}
