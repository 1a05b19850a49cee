package import MachineCore
package import WebSocketRuntime

/// Lets tasks wait until a value has changed since they last read it.
///
/// Read ``version`` before reading the value. A change between the read and the wait is then not missed.
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
    @usableFromInline package func next(after version: UInt64, isolation actor: isolated (any Actor)? = #isolation) async {
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            _ = actor  // A task that waits on an actor resumes there directly.
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

    /// Calls `look` now and after each change until it returns a value; returns nil if the task is cancelled first.
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

    /// Calls `look` now and after each change, but not after the deadline; returns nil after the deadline or a cancellation.
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

/// The states of a client, starting with the present one: of a socket, of rooms, of WAMP, or of a protocol of your own.
///
/// A slow consumer may miss states in between, but it always gets the last one. The sequence keeps its client alive.
public struct StateSequence<State: Sendable>: AsyncSequence, Sendable {
    /// The state of the client.
    public typealias Element = State
    /// The sequence never fails.
    public typealias Failure = Never
    package typealias Snapshot = @Sendable () -> (state: State, version: UInt64, isLast: Bool)
    private let changes: Changes
    private let look: Snapshot

    /// - Parameters:
    ///   - changes: Announced after each change.
    ///   - look: Returns the present state and its version, which differs for each state. Retains the client.
    package init(_ changes: Changes, _ look: @escaping Snapshot) { (self.changes, self.look) = (changes, look) }

    /// Starts with the present state.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: changes, look: look) }

    /// Waits until the states end or the task is cancelled; returns the last one that was seen, so that an end counts also in a cancelled task.
    package func last() async -> State {
        var last = look().state
        for await state in self { last = state }
        return last
    }

    /// Iterates over the states.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let changes: Changes
        let look: Snapshot
        private var seen: UInt64?
        private var isOver = false

        init(changes: Changes, look: @escaping Snapshot) { (self.changes, self.look) = (changes, look) }

        /// Waits for the next state; nil after the last, or when the task is cancelled.
        public mutating func next() async -> State? { await next(isolation: nil) }

        /// Waits for the next state; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> State? {
            while !isOver, !Task.isCancelled {
                let change = changes.version
                let (state, version, isLast) = look()
                guard version == seen else {
                    (seen, isOver) = (version, isLast)
                    return state
                }
                await changes.next(after: change)
            }
            return nil
        }
    }
}
