import Foundation
import Holdfast
import Logging
import MachineCore
import RoomCore
import WebSocketRuntime

/// Samples the hub's state once per second, keeps the latest report, and sends it to watchers.
final class HubStatus: Sendable {
    /// The maximum number of simultaneous watchers.
    private static let mostWatchers = 64

    private struct State {
        var report: HubReport?
        var watchers: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var lastWatcher = 0
        var isOver = false
    }
    private let state = LockedValue(State())
    private let core: HubCore
    private let log: SQLiteRoomLog
    private let started = WallClock.milliseconds

    init(_ core: HubCore, _ log: SQLiteRoomLog) { (self.core, self.log) = (core, log) }

    /// Returns the latest report; just after the start, creates one.
    func present() async -> HubReport? {
        if let report = state.withLockedValue({ $0.report }) { return report }
        var commits = (count: 0, records: 0)
        return await look(&commits)
    }

    /// Returns the latest report with the busiest rooms.
    func detailed() async -> HubReport? {
        var report = await present()
        report?.busiest = await busiest()
        return report
    }

    /// Streams the reports from now on as JSON, starting with the latest one; returns nil if there are too many watchers.
    ///
    /// A slow watcher misses some reports.
    func watch() -> AsyncStream<[UInt8]>? {
        let (reports, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLockedValue { state -> Int? in
            guard state.watchers.count < Self.mostWatchers, !state.isOver else { return nil }
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = continuation
            if let report = state.report { continuation.yield(report.json) }
            return state.lastWatcher
        }
        guard let number else { return nil }
        continuation.onTermination = { [state] _ in state.withLockedValue { $0.watchers[number] = nil } }
        return reports
    }

    /// Samples the state until cancelled, and calls `notify` with each report.
    func watch(_ notify: (HubReport) -> Void) async {
        var (seconds, commits) = (0, (count: 0, records: 0))
        repeat {
            seconds += 1
            // The system clock may be changed, which changes when tokens expire.
            if seconds % 60 == 0 { core.host.submit([.calendar(WallClock.milliseconds)]) }
            guard var report = await look(&commits) else { return }
            note(report, after: state.withLockedValue({ $0.report }))
            notify(report)
            if isWatched { report.busiest = await busiest() }
            let json = report.json
            let watchers = state.withLockedValue { state in
                state.report = report
                return Array(state.watchers.values)
            }
            for watcher in watchers { watcher.yield(json) }
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }

    /// Logs when the hub's log begins to fail, how many transactions failed, and when it works again.
    private func note(_ report: HubReport, after last: HubReport?) {
        let logger = core.configuration.logger
        let failed = report.totals.failedAppends - min(report.totals.failedAppends, last?.totals.failedAppends ?? 0)
        if failed > 0 {
            let reason = report.problem ?? report.log.failure ?? "unknown"
            logger.error("publications could not be stored", metadata: ["transactions": "\(failed)", "reason": "\(reason)"])
        }
        let isFull = (report.log.space ?? 1 <= 0, last?.log.space ?? 1 <= 0)
        if isFull == (true, false) { logger.error("nothing more is stored: the log's disk or its quota is full") }
        if isFull == (false, true) { logger.notice("there is space for the log again") }
        guard report.healthy != last?.healthy ?? true else { return }
        if report.healthy { return logger.notice("the log can be written again") }
        logger.error("the log cannot be written", metadata: ["reason": "\(report.problem ?? "unknown")"])
    }

    /// Ends the streams of all watchers.
    func finish() {
        let watchers = state.withLockedValue { state in
            state.isOver = true
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }

    private var isWatched: Bool { state.withLockedValue { !$0.watchers.isEmpty } }

    private func busiest() async -> HubReport.Busiest? {
        guard let (members, pace) = try? await core.busiest(10) else { return nil }
        func rooms(_ figures: [RoomFigures]) -> [HubReport.Room] {
            figures.map { HubReport.Room(room: $0.room.text, members: $0.members, pace: $0.pace) }
        }
        return HubReport.Busiest(members: rooms(members), pace: rooms(pace))
    }

    private func look(_ commits: inout (count: Int, records: Int)) async -> HubReport? {
        guard let figures = try? await core.figures() else { return nil }
        let (readings, health, disk) = (core.gauges.read(), await log.health, await log.figures)
        let (count, records) = (readings.commits - commits.count, readings.committed - commits.records)
        commits = (readings.commits, readings.committed)
        var problem: String?
        if case .failing(let error) = health { problem = "\(error)" }
        var alarms = log.opening.renewals.map { "all rooms got new epochs when the hub was started: \($0)" }
        let space = log.space(within: core.configuration.quotas)
        if space ?? 1 <= 0 { alarms.append("nothing more is stored: the log's disk or its quota is full") }
        if let doubt = disk.doubt { alarms.append("the clock is not trusted: \(doubt)") }
        return HubReport(
            now: WallClock.milliseconds, started: started, node: core.configuration.node, dev: core.configuration.takesDevelopmentTokens,
            healthy: health.isHealthy, problem: problem, alarms: alarms, stopping: core.host.isStopping, rooms: figures.rooms,
            closedRooms: figures.closedRooms,
            connections: readings.connections, members: figures.members,
            totals: HubReport.Totals(
                published: figures.published, acked: figures.acked, duplicates: figures.duplicates, holes: figures.holes,
                delivered: figures.delivered, ephemerals: figures.ephemerals, snapshots: figures.snapshots, resumes: figures.resumes,
                lagged: figures.lagged, refused: figures.refused.values.reduce(0, +), dropped: UInt64(readings.dropped),
                bytesIn: UInt64(readings.bytesIn), bytesOut: UInt64(readings.bytesOut), commits: UInt64(readings.commits),
                failedAppends: figures.failedAppends, crowdedOut: figures.crowdedOut, rewound: figures.rewound,
                overQuota: figures.refused[.quota] ?? 0, unsaid: figures.unsaid),
            commit: HubReport.Times(readings.commit), fanout: HubReport.Times(readings.fanOut), memory: Self.memory,
            log: HubReport.Log(
                renewed: !log.opening.renewals.isEmpty, doubted: disk.doubt != nil,
                bytes: disk.fileBytes + disk.journalBytes, space: space,
                failure: disk.lastFailure.map { "\($0)" }, group: count > 0 ? Double(records) / Double(count) : nil))
    }

    /// The resident memory in bytes; Linux reports it in pages of 4 KiB.
    private static var memory: Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? Int(fields[1]).map { $0 * 4096 } : nil
    }
}

/// The hub's report about itself, for the status page and for `/status.json`.
///
/// Counters count since the start of the process; times are in milliseconds.
struct HubReport: Encodable, Sendable {
    struct Totals: Encodable, Sendable {
        var published: UInt64 = 0
        var acked: UInt64 = 0
        var duplicates: UInt64 = 0
        var holes: UInt64 = 0
        var delivered: UInt64 = 0
        var ephemerals: UInt64 = 0
        var snapshots: UInt64 = 0
        var resumes: UInt64 = 0
        var lagged: UInt64 = 0
        var refused: UInt64 = 0
        var dropped: UInt64 = 0
        var bytesIn: UInt64 = 0
        var bytesOut: UInt64 = 0
        var commits: UInt64 = 0
        var failedAppends: UInt64 = 0
        var crowdedOut: UInt64 = 0
        var rewound: UInt64 = 0
        var overQuota: UInt64 = 0
        var unsaid: UInt64 = 0
    }
    /// Percentiles of the last second; null if there were no values.
    struct Times: Encodable, Sendable {
        var p50: Double?
        var p99: Double?

        init(_ histogram: DurationHistogram) {
            (p50, p99) = (histogram.percentile(50)?.milliseconds, histogram.percentile(99)?.milliseconds)
        }
    }
    struct Log: Encodable, Sendable {
        /// Whether all rooms got new epochs when the log was opened.
        var renewed: Bool
        /// Whether the wall clock is far from the expected time, so that no devices are forgotten.
        var doubted: Bool
        /// The size on disk in bytes.
        var bytes: Int64
        /// The number of bytes that may still be stored; null if the system does not report it.
        var space: Int64?
        /// The reason of the last failed transaction; null if none has failed.
        var failure: String?
        /// Publications per transaction in the last second; null if there were none.
        var group: Double?
    }
    struct Room: Encodable, Sendable {
        var room: String
        /// Connections in the room.
        var members: Int
        /// Entries per second, averaged over the last ten seconds.
        var pace: Double
    }
    /// The ten rooms with the most members, and the ten with the most entries per second.
    struct Busiest: Encodable, Sendable {
        var members: [Room]
        var pace: [Room]
    }
    var now: Int64
    var started: Int64
    var node: String
    var dev: Bool
    var healthy: Bool
    /// Why the log is not healthy.
    var problem: String?
    /// Warnings for the operator, in words: why all rooms got new epochs at the start, why the clock is not trusted.
    var alarms: [String]
    var stopping: Bool
    var rooms: Int
    var closedRooms: Int
    var connections: Int
    var members: Int
    var totals: Totals
    var commit: Times
    var fanout: Times
    /// The resident memory of the process in bytes; null if the system does not report it.
    var memory: Int?
    var log: Log
    /// Only for requests that ask for it, because it examines all rooms.
    var busiest: Busiest?

    /// The report as JSON, on one line.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? Array("{}".utf8)
    }
}

extension Duration {
    fileprivate var milliseconds: Double { Double(wholeNanoseconds) / 1e6 }
}
