import Foundation
import Holdfast
import MachineCore
import RoomCore

/// What the hub tells of itself: for the page of its status, and for whoever asks for `/status.json`.
///
/// Counters are of the whole life of the process; times are in milliseconds.
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
    /// Percentiles of the last second; null if nothing happened in it.
    struct Times: Encodable, Sendable {
        var p50: Double?
        var p99: Double?

        init(_ histogram: DurationHistogram) {
            (p50, p99) = (histogram.percentile(50)?.milliseconds, histogram.percentile(99)?.milliseconds)
        }
    }
    struct Log: Encodable, Sendable {
        /// Whether all rooms got new epochs when it was opened.
        var renewed: Bool
        /// Whether the calendar is far from where it should be, so that nothing is forgotten.
        var doubted: Bool
        /// Bytes on disk.
        var bytes: Int64
        /// Bytes that may yet be stored; null if the system does not tell.
        var space: Int64?
        /// Why the last transaction that failed did; null if none has.
        var failure: String?
        /// Publications per transaction in the last second; null if there was none.
        var group: Double?
    }
    struct Room: Encodable, Sendable {
        var room: String
        /// Connections in it.
        var members: Int
        /// Entries a second, of the last ten seconds.
        var pace: Double
    }
    /// The ten rooms with the most members, and the ten with the most entries a second.
    struct Busiest: Encodable, Sendable {
        var members: [Room]
        var pace: [Room]
    }
    var now: Int64
    var started: Int64
    var node: String
    var dev: Bool
    var healthy: Bool
    /// Why it is not healthy.
    var problem: String?
    /// What somebody should know, in words: why all rooms got new epochs at the start, why the clock is not believed.
    var alarms: [String]
    var stopping: Bool
    var rooms: Int
    var closedRooms: Int
    var connections: Int
    var members: Int
    var totals: Totals
    var commit: Times
    var fanout: Times
    /// Bytes that the process holds; null where the system does not tell.
    var memory: Int?
    var log: Log
    /// Told only to those who ask: it takes a look at all rooms.
    var busiest: Busiest?

    /// As JSON, on one line.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? Array("{}".utf8)
    }
}

extension Duration {
    fileprivate var milliseconds: Double { Double(wholeNanoseconds) / 1e6 }
}
