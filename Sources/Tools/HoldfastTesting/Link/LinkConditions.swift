#if SwiftNIO
    import NIOCore
    import WebSocketRuntime

    /// How well a ``FaultyLink`` works at present, what it has carried, and whom to tell when that changes.
    final class LinkConditions: Sendable {
        /// Each connection breaks once it has carried some of these many bytes, from when this was said.
        struct Limit: Hashable {
            let number: UInt64
            let bytes: ClosedRange<Int>
            let ending: LinkEnding
        }
        /// What holds for all connections.
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

        var present: Present { state.withLockedValue(\.present) }

        /// Changes what holds, and tells every connection.
        func change(_ body: (inout Present) -> Void) { changeState { body(&$0.present) } }

        /// Starts chance anew.
        func reseed(_ seed: UInt64) { state.withLockedValue { $0.chance = SeededGenerator(seed: seed) } }

        /// Limits the pace of each of these directions; nil for no limit.
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

        /// How many of `wanted` bytes may pass now.
        func grant(_ wanted: Int, _ direction: LinkDirections, at now: NIODeadline) -> Throttle.Grant {
            state.withLockedValue { $0.throttles[direction]?.grant(wanted, at: now) ?? Throttle.Grant(count: wanted, next: now) }
        }

        /// How long what is read now is under way.
        func drawDelay() -> Duration {
            state.withLockedValue { $0.present.delay.draw(using: &$0.chance) }
        }

        /// After how many bytes the next connection breaks.
        func draw(_ limit: Limit) -> Int {
            state.withLockedValue { Int.random(in: limit.bytes, using: &$0.chance) }
        }

        func note(carried count: Int, _ direction: LinkDirections) {
            state.withLockedValue { $0.carried[direction, default: 0] += count }
        }

        func carried(_ direction: LinkDirections) -> Int { state.withLockedValue { $0.carried[direction] ?? 0 } }

        /// Calls `change` whenever what holds changes, until ``forget(_:)``.
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
