public import MachineCore

/// Rings for a shell at its machine's deadline.
///
/// It may ring early, which is harmless: a machine may be woken at any time. So a deadline that moves later costs nothing.
@usableFromInline package final class DeadlineTimer: Sendable {
    private let time: LinkTime
    private let alarm = LockedValue<(at: Moment, task: Task<Void, Never>)?>(nil)

    @usableFromInline package init(_ time: LinkTime) { self.time = time }

    deinit { cancel() }

    /// Whether it rings too late for this deadline, or not at all.
    @usableFromInline package func ringsAfter(_ deadline: Moment) -> Bool { alarm.withLockedValue { deadline < $0?.at ?? .distantFuture } }

    /// Calls `ring` once, no later than at the deadline.
    @usableFromInline package func set(_ deadline: Moment, ring: @escaping @Sendable () -> Void) {
        alarm.withLockedValue { alarm in
            guard deadline < alarm?.at ?? .distantFuture else { return }
            alarm?.task.cancel()
            // SAFETY: owned by the timer, and cancelled with it or by an earlier deadline.
            let task = Task { [time, weak self] in
                guard (try? await time.sleep(deadline)) != nil else { return }
                self?.forget(deadline)
                if !Task.isCancelled { ring() }
            }
            alarm = (deadline, task)
        }
    }

    /// Rings no more, until it is set again.
    @usableFromInline package func cancel() {
        alarm.withLockedValue { alarm in
            alarm?.task.cancel()
            alarm = nil
        }
    }

    /// It rang; an earlier one may have taken its place.
    private func forget(_ deadline: Moment) { alarm.withLockedValue { if $0?.at == deadline { $0 = nil } } }
}
