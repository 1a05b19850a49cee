import MachineCore
import SessionCore

/// How long there was no connection.
struct Outage {
    /// Before the present connection; nil before the first, zero if it took over from another.
    private(set) var last: Duration?
    /// When the last connection went.
    private var beginning: Moment?
    private var isConnected = false

    mutating func note(_ phase: Reconnector.Phase, at now: Moment) {
        switch phase {
        case .connected, .handingOver:
            last = isConnected ? .zero : beginning.map { now - $0 }
            isConnected = true
        case .idle, .connecting, .waiting, .held, .stopped:
            if isConnected { beginning = now }
            isConnected = false
        }
    }
}
