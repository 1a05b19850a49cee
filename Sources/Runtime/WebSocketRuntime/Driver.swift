public import MachineCore

/// Runs a machine with a real clock.
///
/// The driver applies an input and starts its effects without suspending. So effects run in the machine's order, and no two inputs
/// interleave.
package actor Driver<M: Machine, C: Clock> where C.Duration == Duration {
    private var machine: M
    private var effects: [M.Effect] = []
    private var alarm: (at: Moment, task: Task<Void, Never>)?
    private let clock: C
    private let origin: C.Instant
    private let perform: @Sendable (_ effect: M.Effect, _ at: Moment) -> Void

    /// Creates a driver; the machine's timeline starts now.
    ///
    /// - Parameters:
    ///   - machine: The machine, in its initial state.
    ///   - clock: The clock for the time and the alarm.
    ///   - perform: Starts an effect with the moment it belongs to; must return at once.
    package init(_ machine: M, clock: C, perform: @escaping @Sendable (_ effect: M.Effect, _ at: Moment) -> Void) {
        (self.machine, self.clock, self.origin, self.perform) = (machine, clock, clock.now, perform)
    }

    deinit { alarm?.task.cancel() }

    /// Applies one input now and starts its effects.
    package func handle(_ input: M.Input) { apply { $0.handle(input, at: $1, into: &$2) } }

    private func alarmRang(_ at: Moment) {
        if alarm?.at == at { alarm = nil }  // Otherwise an earlier alarm has replaced it.
        apply { $0.wake(at: $1, into: &$2) }
    }

    private func apply(_ change: (inout M, Moment, inout [M.Effect]) -> Void) {
        let now = Moment(origin.duration(to: clock.now))
        change(&machine, now, &effects)
        for effect in effects { perform(effect, now) }
        effects.removeAll(keepingCapacity: true)
        // An early alarm is harmless, so a deadline that moves later needs no new alarm.
        guard let deadline = machine.deadline, deadline < alarm?.at ?? .distantFuture else { return }
        alarm?.task.cancel()
        let instant = origin.advanced(by: deadline.offset)
        // SAFETY: the alarm owns the task, which holds the driver weakly; it is cancelled with the driver or by an earlier alarm.
        let task = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: instant, tolerance: nil)) != nil else { return }
            await self?.alarmRang(deadline)
        }
        alarm = (deadline, task)
    }
}

/// A timer that fires at the deadline of a shell's machine.
///
/// It may fire early, which is harmless because a machine may be woken at any time. So a deadline that moves later needs no new timer.
@usableFromInline package final class DeadlineTimer: Sendable {
    private let time: LinkTime
    private let alarm = LockedValue<(at: Moment, task: Task<Void, Never>)?>(nil)

    @usableFromInline package init(_ time: LinkTime) { self.time = time }

    deinit { cancel() }

    /// Whether the timer fires too late for this deadline, or not at all.
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

    /// Stops the timer until it is set again.
    @usableFromInline package func cancel() {
        alarm.withLockedValue { alarm in
            alarm?.task.cancel()
            alarm = nil
        }
    }

    /// Clears the alarm after it fired; an earlier one may have replaced it.
    private func forget(_ deadline: Moment) { alarm.withLockedValue { if $0?.at == deadline { $0 = nil } } }
}
