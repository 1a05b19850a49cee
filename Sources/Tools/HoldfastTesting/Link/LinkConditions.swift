#if SwiftNIO
    import NIOCore
    import WebSocketRuntime

    /// The current conditions of a ``FaultyLink``, its byte counts, and the observers of changes.
    final class LinkConditions: Sendable {
        /// A limit on the bytes that each connection carries before it is cut, counted from when the limit was set.
        struct Limit: Hashable {
            let number: UInt64
            let bytes: ClosedRange<Int>
            let ending: LinkEnding
        }
        /// The conditions for all connections.
        struct Present {
            var isStalled = false
            var swallowed: LinkDirections = []
            var delay: ClosedRange<Duration> = .zero ... .zero
            fileprivate(set) var limit: Limit?
        }
        private struct State {
            var present = Present()
            var throttles: [LinkDirections: Throttle] = [:]
            var carried: [LinkDirections: Int] = [:]
            var lastLimit: UInt64 = 0
            var chance: SeededGenerator
            var observers: [ObjectIdentifier: @Sendable () -> Void] = [:]
        }
        private let state: LockedValue<State>

        init(seed: UInt64 = 0) { state = LockedValue(State(chance: SeededGenerator(seed: seed))) }

        var present: Present { state.withLockedValue({ $0.present }) }

        /// Changes the conditions, and notifies every connection.
        func change(_ body: (inout Present) -> Void) { changeState { body(&$0.present) } }

        /// Restarts the random generator.
        func reseed(_ seed: UInt64) { state.withLockedValue { $0.chance = SeededGenerator(seed: seed) } }

        /// Limits the rate of each of these directions; nil for no limit.
        func throttle(_ directions: LinkDirections, to bytesPerSecond: Int?) {
            changeState { state in
                for direction in [LinkDirections.up, .down] where directions.contains(direction) {
                    state.throttles[direction] = bytesPerSecond.map { Throttle(bytesPerSecond: $0) }
                }
            }
        }

        func limit(_ bytes: ClosedRange<Int>?, _ ending: LinkEnding) {
            changeState { state in
                state.lastLimit += 1
                state.present.limit = bytes.map { Limit(number: state.lastLimit, bytes: $0, ending: ending) }
            }
        }

        /// Returns how many of `wanted` bytes may pass now.
        func grant(_ wanted: Int, _ direction: LinkDirections, at now: NIODeadline) -> Throttle.Grant {
            state.withLockedValue { $0.throttles[direction]?.grant(wanted, at: now) ?? Throttle.Grant(count: wanted, next: now) }
        }

        /// Draws the delay of a piece that is read now.
        func drawDelay() -> Duration {
            state.withLockedValue { $0.present.delay.draw(using: &$0.chance) }
        }

        /// Draws the number of bytes after which the next connection is cut.
        func draw(_ limit: Limit) -> Int {
            state.withLockedValue { Int.random(in: limit.bytes, using: &$0.chance) }
        }

        func note(carried count: Int, _ direction: LinkDirections) {
            state.withLockedValue { $0.carried[direction, default: 0] += count }
        }

        func carried(_ direction: LinkDirections) -> Int { state.withLockedValue { $0.carried[direction] ?? 0 } }

        /// Calls `change` whenever the conditions change, until ``forget(_:)``.
        func observe(_ id: ObjectIdentifier, change: @escaping @Sendable () -> Void) {
            state.withLockedValue { $0.observers[id] = change }
        }

        func forget(_ id: ObjectIdentifier) {
            state.withLockedValue { $0.observers[id] = nil }
        }

        private func changeState(_ body: (inout State) -> Void) {
            let observers = state.withLockedValue { state in
                body(&state)
                return Array(state.observers.values)
            }
            for observer in observers { observer() }
        }
    }

    /// Limits a rate in bytes per second; grants up to a hundredth of a second's worth at a time.
    struct Throttle: Hashable, Sendable {
        /// The number of bytes that may pass now, and when to ask again if it is zero.
        struct Grant: Hashable {
            var count: Int
            var next: NIODeadline
        }
        /// Unused time counts for this long, so that a late alarm costs no throughput.
        private static let memory = TimeAmount.milliseconds(50)
        private static let slice = TimeAmount.milliseconds(10)

        let bytesPerSecond: Int
        /// When the bytes that have passed are paid for.
        private var free = NIODeadline.uptimeNanoseconds(0)

        init(bytesPerSecond: Int) {
            self.bytesPerSecond = min(max(bytesPerSecond, FaultLimits.rates.lowerBound), FaultLimits.rates.upperBound)
        }

        /// Takes up to `wanted` bytes from the allowance.
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
