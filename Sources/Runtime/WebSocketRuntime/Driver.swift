public import MachineCore

/// Runs a machine for real: the only place where a machine meets a clock.
///
/// An input is applied and its effects are started without suspending, so effects
/// leave in the machine's order and no two inputs interleave.
public actor Driver<M: Machine, C: Clock> where C.Duration == Duration {
    private var machine: M
    private var effects: [M.Effect] = []
    private var alarm: (at: Moment, task: Task<Void, Never>)?
    private let clock: C
    private let origin: C.Instant
    private let perform: @Sendable (_ effect: M.Effect, _ at: Moment) -> Void

    /// Starts the machine's timeline at the clock's present.
    ///
    /// - Parameters:
    ///   - machine: The rules, in their first state.
    ///   - clock: What tells the time and rings the alarm.
    ///   - perform: Starts an effect, told the moment it belongs to, and returns at once.
    public init(_ machine: M, clock: C, perform: @escaping @Sendable (_ effect: M.Effect, _ at: Moment) -> Void) {
        (self.machine, self.clock, self.origin, self.perform) = (machine, clock, clock.now, perform)
    }

    deinit { alarm?.task.cancel() }

    /// Applies one input now and starts its effects.
    public func handle(_ input: M.Input) { apply { $0.handle(input, at: $1, into: &$2) } }

    private func alarmRang(_ at: Moment) {
        if alarm?.at == at { alarm = nil }  // Otherwise an earlier alarm has taken its place.
        apply { $0.wake(at: $1, into: &$2) }
    }

    private func apply(_ change: (inout M, Moment, inout [M.Effect]) -> Void) {
        let now = Moment(origin.duration(to: clock.now))
        change(&machine, now, &effects)
        for effect in effects { perform(effect, now) }
        effects.removeAll(keepingCapacity: true)
        // An alarm that rings early is harmless, so a deadline that moves later costs nothing.
        guard let deadline = machine.deadline, deadline < alarm?.at ?? .distantFuture else { return }
        alarm?.task.cancel()
        let instant = origin.advanced(by: deadline.offset)
        // SAFETY: the alarm owns the task, holds the driver weakly, and is cancelled with it or by an earlier alarm.
        let task = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: instant, tolerance: nil)) != nil else { return }
            await self?.alarmRang(deadline)
        }
        alarm = (deadline, task)
    }
}

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
