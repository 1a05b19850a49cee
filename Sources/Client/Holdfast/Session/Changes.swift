package import MachineCore
package import WebSocketRuntime

/// Lets tasks wait until something has changed since they last looked.
///
/// Read ``version`` before looking; a change between the look and the wait is then not missed.
@usableFromInline package final class Changes: Sendable {
    private struct State {
        var version: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
    }
    private let state = LockedValue(State())

    @usableFromInline package init() {}

    @usableFromInline package var version: UInt64 { state.withLockedValue { $0.version } }

    @usableFromInline package func announce() {
        let waiters = state.withLockedValue { state in
            state.version += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns after a change since `version`, or when the task is cancelled.
    @usableFromInline package func next(after version: UInt64) async {
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLockedValue { state in
                    guard state.version == version, !Task.isCancelled else { return false }
                    state.waiters[id] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }
}

extension Changes {
    /// Looks, and looks again after each change, until there is something; nil if the task is cancelled first.
    @discardableResult
    package func first<Value, Failure>(
        isolation actor: isolated (any Actor)? = #isolation, _ look: () throws(Failure) -> Value?
    ) async throws(Failure) -> Value? {
        while true {
            let version = version
            if let value = try look() { return value }
            if Task.isCancelled { return nil }
            await next(after: version)
        }
    }

    /// The same, but no longer than until a moment; nil also when that has come.
    package func first<Value, Failure>(
        until limit: Moment?, on time: LinkTime, isolation actor: isolated (any Actor)? = #isolation, _ look: () throws(Failure) -> Value?
    ) async throws(Failure) -> Value? {
        guard let limit else { return try await first(look) }
        let timer = DeadlineTimer(time)
        timer.set(limit) { self.announce() }
        defer { timer.cancel() }
        let found = try await first { () throws(Failure) -> Value?? in
            if let value = try look() { return value }
            return time.now() >= limit ? .some(nil) : nil
        }
        return found ?? nil
    }
}
