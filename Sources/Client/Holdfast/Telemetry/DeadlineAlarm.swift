import MachineCore
import WebSocketRuntime

/// Rings at a machine's deadline, by the clock of a session.
final class DeadlineAlarm: Sendable {
    private let session: LiveSession
    private let alarm = LockedValue<(at: Moment, task: Task<Void, Never>)?>(nil)

    init(_ session: LiveSession) { self.session = session }

    deinit { cancel() }

    /// Whether it rings too late for this deadline, or not at all.
    func ringsAfter(_ deadline: Moment) -> Bool { alarm.withLockedValue { deadline < $0?.at ?? .distantFuture } }

    /// Sees to it that `ring` is called no later than at the deadline.
    ///
    /// One that rings early is harmless, so a deadline that moves later costs nothing.
    func set(_ deadline: Moment, ring: @escaping @Sendable () -> Void) {
        alarm.withLockedValue { alarm in
            guard deadline < alarm?.at ?? .distantFuture else { return }
            alarm?.task.cancel()
            // SAFETY: owned by the alarm, and cancelled with it or by an earlier deadline.
            let task = Task { [session, weak self] in
                let wait = deadline.offset - session.instruments.now()
                if wait > .zero { guard (try? await session.sleep(wait)) != nil else { return } }
                self?.forget(deadline)
                if !Task.isCancelled { ring() }
            }
            alarm = (deadline, task)
        }
    }

    func cancel() {
        alarm.withLockedValue { alarm in
            alarm?.task.cancel()
            alarm = nil
        }
    }

    /// It rang; an earlier one may have taken its place.
    private func forget(_ deadline: Moment) { alarm.withLockedValue { if $0?.at == deadline { $0 = nil } } }
}
