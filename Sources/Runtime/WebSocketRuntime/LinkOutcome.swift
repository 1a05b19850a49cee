/// A value that becomes known once, and those who wait for it.
package final class LinkOutcome<Value: Sendable>: Sendable {
    private enum State {
        case open([CheckedContinuation<Value, Never>])
        case settled(Value)
    }
    private let state = LockedValue(State.open([]))

    /// Nobody knows it yet.
    package init() {}

    /// What it is; nil while nobody knows.
    package var value: Value? {
        state.withLockedValue { if case .settled(let value) = $0 { value } else { nil } }
    }

    /// Makes the value known; only the first counts.
    package func settle(_ value: Value) {
        let waiters = state.withLockedValue { state -> [CheckedContinuation<Value, Never>] in
            guard case .open(let waiters) = state else { return [] }
            state = .settled(value)
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// Waits until it is known, also when the task is cancelled.
    package func wait() async -> Value {
        await withCheckedContinuation { waiter in
            let value = state.withLockedValue { state -> Value? in
                switch state {
                case .settled(let value): return value
                case .open(let waiters):
                    state = .open(waiters + [waiter])
                    return nil
                }
            }
            if let value { waiter.resume(returning: value) }
        }
    }
}
