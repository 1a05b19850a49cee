#if SwiftNIO
    import NIOCore

    /// Lets so many bytes a second pass, a hundredth of a second's worth at a time.
    struct Throttle: Hashable, Sendable {
        /// What may pass now, and when to ask again if that is nothing.
        struct Grant: Hashable {
            var count: Int
            var next: NIODeadline
        }
        /// Time that was not used counts for this long, so that a late alarm costs no throughput.
        private static let memory = TimeAmount.milliseconds(50)
        private static let slice = TimeAmount.milliseconds(10)

        let bytesPerSecond: Int
        /// When all that has passed is paid for.
        private var free = NIODeadline.uptimeNanoseconds(0)

        init(bytesPerSecond: Int) {
            self.bytesPerSecond = min(max(bytesPerSecond, FaultLimits.rates.lowerBound), FaultLimits.rates.upperBound)
        }

        /// Takes up to `wanted` bytes out of what may pass.
        mutating func grant(_ wanted: Int, at now: NIODeadline) -> Grant {
            guard free <= now else { return Grant(count: 0, next: free) }
            let start = max(free, now - Self.memory)
            let allowance = bytesPerSecond * Int((now - start + Self.slice).nanoseconds) / 1_000_000_000
            let count = min(wanted, max(1, allowance))
            free = start + .nanoseconds(Int64(count * 1_000_000_000 / bytesPerSecond))
            return Grant(count: count, next: free)
        }
    }
#endif
