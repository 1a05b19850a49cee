import SessionCore
import WebSocketRuntime

/// How far the socket of one connection has come with what was sent: the shell around a `WriteLog`.
///
/// It asks the transport only from the moment at which somebody wants to know, and then one thing at a time: whether all that was
/// taken so far is written. So it never says of a message that it is written before that is so, in whatever order senders
/// come here with what the transport took.
final class WriteTrail: Sendable {
    private struct State {
        var log = WriteLog()
        /// Nil once nothing more can be learnt.
        var transport: (any MessageTransport)?
        /// Somebody wanted to know: from now on whatever is sent is followed.
        var isFollowed = false
        var isAsking = false
        /// Those who wait, by the serials of their messages.
        var waiters: [UInt64: [UInt64: CheckedContinuation<Void, Never>]] = [:]
        var lastWaiter: UInt64 = 0
    }
    private let state: LockedValue<State>

    init(_ transport: any MessageTransport) { state = LockedValue(State(transport: transport)) }

    /// Notes that the transport has taken one more message; returns its serial, nil if the connection is over.
    func take() -> UInt64? {
        let (serial, isFollowed) = state.withLockedValue { ($0.log.take(), $0.isFollowed) }
        if isFollowed { ask() }
        return serial
    }

    /// The connection is over.
    func end() {
        let waiters = state.withLockedValue { state in
            state.log.end()
            state.transport = nil
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters.flatMap(\.values) { waiter.resume() }
    }

    /// Learns what becomes of all that was taken so far, and of whatever comes.
    func follow() {
        state.withLockedValue { $0.isFollowed = true }
        ask()
    }

    /// Waits for what becomes of a message; nil if the task is cancelled.
    func fate(of serial: UInt64) async -> SendFate? {
        if let fate = state.withLockedValue({ $0.log.fate(of: serial) }) { return fate }
        follow()
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLockedValue { state in
                    guard state.log.fate(of: serial) == nil, !Task.isCancelled else { return false }
                    state.waiters[serial, default: [:]][id] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiters[serial]?.removeValue(forKey: id) }?.resume()
        }
        return state.withLockedValue { $0.log.fate(of: serial) }
    }

    private func ask() {
        let question = state.withLockedValue { state -> (transport: any MessageTransport, through: UInt64)? in
            guard !state.isAsking, state.log.isPending, let transport = state.transport else { return nil }
            state.isAsking = true
            return (transport, state.log.taken)
        }
        guard let (transport, last) = question else { return }
        transport.whenWritten { [self] isWritten in
            guard isWritten else { return end() }
            for waiter in write(through: last) { waiter.resume() }
            ask()
        }
    }

    /// Returns those who waited for that.
    private func write(through last: UInt64) -> [CheckedContinuation<Void, Never>] {
        state.withLockedValue { state in
            state.isAsking = false
            let before = state.log.written
            state.log.write(through: last)
            var waiters: [CheckedContinuation<Void, Never>] = []
            for serial in before..<state.log.written { waiters += (state.waiters.removeValue(forKey: serial + 1) ?? [:]).values }
            return waiters
        }
    }
}
