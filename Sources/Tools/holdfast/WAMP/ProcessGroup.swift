import Dispatch
import Foundation

/// A process and what it has started.
struct ProcessGroup: Sendable {
    /// How long they may take to end by themselves.
    private static let patience = DispatchTimeInterval.seconds(2)

    private let leader: pid_t

    /// The group that a process of Foundation's leads.
    init(_ leader: pid_t) { self.leader = leader }

    /// Tells all of them to end, and later does not ask any more.
    func end() {
        signal(SIGTERM)
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { signal(SIGKILL) }
    }

    private func signal(_ number: Int32) {
        // A process that leads no group is told by itself.
        if kill(-leader, number) != 0 { kill(leader, number) }
    }
}
