#if SwiftNIO
    extension FaultyLink {
        /// Lets a fault begin; those that last hold until ``lift(_:)``.
        ///
        /// - Throws: `IOError`, for ``Fault/heal`` alone, if somebody else has taken the port that was closed.
        public func apply(_ fault: Fault) async throws {
            switch fault {
            case .cut(let ending): cut(ending)
            case .cutAfter(let bytes, let ending): cut(after: bytes, ending)
            case .stall: stall()
            case .swallow(let directions): conditions.change { $0.swallowed.formUnion(directions) }
            case .refuse: refuse()
            case .close: try await closePort()
            case .throttle(let rate, let directions): throttle(directions, to: rate)
            case .delay(let range): delay = range
            case .heal: try await heal()
            }
        }

        /// Ends a fault; nothing happens for one that is over at once.
        ///
        /// - Throws: `IOError`, for ``Fault/close`` alone, if somebody else has taken the port meanwhile.
        public func lift(_ fault: Fault) async throws {
            switch fault {
            case .cut, .heal: break
            case .cutAfter: cut(after: nil)
            case .stall: conditions.change { $0.isStalled = false }
            case .swallow(let directions): conditions.change { $0.swallowed.subtract(directions) }
            case .refuse: welcome()
            case .close: try await openPort()
            case .throttle(_, let directions): throttle(directions, to: nil)
            case .delay: delay = .zero ... .zero
            }
        }

        /// Plays a script, until its last step or until the task is cancelled; what holds then, goes on holding.
        ///
        /// ```swift
        /// try await link.follow(FaultScript("every 5s..9s cut; at 20s stall 8s"), seed: 1)
        /// ```
        /// - Parameters:
        ///   - script: What to do, and when; counted from this call.
        ///   - seed: Decides whatever the script leaves open; the same seed, the same faults.
        ///   - clock: What the times are measured with: a ``ManualClock``, and the test says when the next fault comes.
        ///   - tell: Called with each fault once it was done; the next one waits for it.
        /// - Throws: `CancellationError` when cancelled; `IOError` if somebody else has taken the port that was closed.
        public func follow<C: Clock>(
            _ script: FaultScript, seed: UInt64, clock: C = ContinuousClock(), telling tell: (PlannedFault) async -> Void = { _ in }
        ) async throws where C.Duration == Duration {
            conditions.reseed(seed)
            let start = clock.now
            for planned in FaultPlan(script, seed: seed) {
                let moment = start.advanced(by: planned.time)
                if clock.now < moment { try await clock.sleep(until: moment, tolerance: nil) }
                try Task.checkCancellation()
                if planned.isEnd { try await lift(planned.fault) } else { try await apply(planned.fault) }
                await tell(planned)
            }
        }
    }
#endif
