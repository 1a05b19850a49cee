import Holdfast
import WebSocketRuntime
import NIOCore
import RoomsWire

/// What is counted beside the machine, on all event loops.
final class HubGauges: Sendable {
    struct Readings: Sendable {
        var connections = 0
        var bytesIn = 0
        var bytesOut = 0
        /// Frames of the ephemeral lane that slow clients did not get.
        var dropped = 0
        var commits = 0
        var committed = 0
        /// Since the last reading.
        var commit = DurationHistogram()
        var fanOut = DurationHistogram()
    }
    private struct State {
        var readings = Readings()
        var speakers: [RoomsEncoding: Int] = [:]
        var encodings: Set<RoomsEncoding> = []
    }
    private let state = LockedValue(State())

    /// The encodings that somebody speaks.
    var encodings: Set<RoomsEncoding> { state.withLockedValue(\.encodings) }

    /// How many clients are connected.
    var connections: Int { state.withLockedValue(\.readings.connections) }

    func add(_ encoding: RoomsEncoding, _ difference: Int) {
        state.withLockedValue { state in
            state.readings.connections += difference
            let speakers = state.speakers[encoding, default: 0] + difference
            state.speakers[encoding] = speakers
            if speakers == 0 { state.encodings.remove(encoding) } else { state.encodings.insert(encoding) }
        }
    }

    func carried(in bytesIn: Int, out bytesOut: Int, dropped: Int, fanOut: TimeAmount?) {
        state.withLockedValue { state in
            state.readings.bytesIn += bytesIn
            state.readings.bytesOut += bytesOut
            state.readings.dropped += dropped
            if let fanOut { state.readings.fanOut.record(.nanoseconds(fanOut.nanoseconds)) }
        }
    }

    /// The log has written so many records in one transaction.
    func committed(_ records: Int, in duration: Duration) {
        state.withLockedValue { state in
            state.readings.commits += 1
            state.readings.committed += records
            state.readings.commit.record(duration)
        }
    }

    /// What was counted; the times begin anew.
    func read() -> Readings {
        state.withLockedValue { state in
            defer { (state.readings.commit, state.readings.fanOut) = (DurationHistogram(), DurationHistogram()) }
            return state.readings
        }
    }
}
