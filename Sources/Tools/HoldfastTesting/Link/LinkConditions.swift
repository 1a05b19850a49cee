import NIOConcurrencyHelpers

/// How well a ``FaultyLink`` works at present, and whom to tell when that changes.
final class LinkConditions: Sendable {
    private struct State {
        var isStalled = false
        var latency: Duration = .zero
        var observers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }
    private let state = NIOLockedValueBox(State())

    var latency: Duration {
        get { state.withLockedValue(\.latency) }
        set { state.withLockedValue { $0.latency = newValue } }
    }

    var isStalled: Bool {
        get { state.withLockedValue(\.isStalled) }
        set {
            let observers = state.withLockedValue { state in
                state.isStalled = newValue
                return Array(state.observers.values)
            }
            for observer in observers { observer() }
        }
    }

    /// Calls `change` whenever the link stalls or resumes, until ``forget(_:)``.
    func observe(_ id: ObjectIdentifier, change: @escaping @Sendable () -> Void) {
        state.withLockedValue { $0.observers[id] = change }
    }

    func forget(_ id: ObjectIdentifier) {
        state.withLockedValue { $0.observers[id] = nil }
    }
}
