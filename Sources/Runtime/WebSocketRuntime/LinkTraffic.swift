import Atomics
public import MachineCore

/// What a connection has carried since its handshake.
public struct LinkTraffic: Hashable, Sendable {
    /// Bytes of frames that came, headers and control frames included; without what TLS and TCP add.
    ///
    /// Counted when they are parsed: what waits while the app does not keep up is not in it.
    public var bytesIn: Int
    /// Bytes of frames that were given to the socket, headers and control frames included; without what TLS and TCP add.
    public var bytesOut: Int
    /// Messages that came whole.
    public var messagesIn: Int
    /// Messages that were framed whole; one that was accepted and waits is not in it.
    public var messagesOut: Int
    /// Bytes of messages that came, after inflating.
    public var payloadIn: Int
    /// Bytes of messages that were framed, before deflating.
    public var payloadOut: Int

    /// So much of each.
    public init(
        bytesIn: Int = 0, bytesOut: Int = 0, messagesIn: Int = 0, messagesOut: Int = 0, payloadIn: Int = 0, payloadOut: Int = 0
    ) {
        (self.bytesIn, self.bytesOut, self.messagesIn) = (bytesIn, bytesOut, messagesIn)
        (self.messagesOut, self.payloadIn, self.payloadOut) = (messagesOut, payloadIn, payloadOut)
    }

    /// How many bytes of messages a byte on the wire stood for, both directions together; nil if nothing was carried.
    ///
    /// A little less than 1 without compression, for frames have headers.
    public var compressionRatio: Double? {
        bytesIn + bytesOut == 0 ? nil : Double(payloadIn + payloadOut) / Double(bytesIn + bytesOut)
    }

    /// Both together.
    public static func + (lhs: LinkTraffic, rhs: LinkTraffic) -> LinkTraffic {
        LinkTraffic(
            bytesIn: lhs.bytesIn + rhs.bytesIn, bytesOut: lhs.bytesOut + rhs.bytesOut, messagesIn: lhs.messagesIn + rhs.messagesIn,
            messagesOut: lhs.messagesOut + rhs.messagesOut, payloadIn: lhs.payloadIn + rhs.payloadIn,
            payloadOut: lhs.payloadOut + rhs.payloadOut)
    }

    /// What came after `rhs`, which is an earlier reading.
    public static func - (lhs: LinkTraffic, rhs: LinkTraffic) -> LinkTraffic {
        LinkTraffic(
            bytesIn: lhs.bytesIn - rhs.bytesIn, bytesOut: lhs.bytesOut - rhs.bytesOut, messagesIn: lhs.messagesIn - rhs.messagesIn,
            messagesOut: lhs.messagesOut - rhs.messagesOut, payloadIn: lhs.payloadIn - rhs.payloadIn,
            payloadOut: lhs.payloadOut - rhs.payloadOut)
    }

    /// Adds what was carried elsewhere.
    public static func += (lhs: inout LinkTraffic, rhs: LinkTraffic) { lhs = lhs + rhs }
}

/// What a connection has carried, told by its one owner once a turn and read by anybody at any time.
///
/// In one block of memory, for an idle connection has one, too.
package final class TrafficMeter: Sendable {
    private typealias Word = UnsafeAtomic<Int>
    private static let count = 6
    // SAFETY: the words are atomic, and live as long as this object.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Word.Storage>

    package init() {
        words = .allocate(capacity: Self.count)
        for index in 0..<Self.count { (words + index).initialize(to: Word.Storage(0)) }
    }

    deinit {
        for index in 0..<Self.count { _ = (words + index).pointee.dispose() }
        words.deallocate()
    }

    /// The last that was told.
    package var traffic: LinkTraffic {
        LinkTraffic(bytesIn: read(0), bytesOut: read(1), messagesIn: read(2), messagesOut: read(3), payloadIn: read(4), payloadOut: read(5))
    }

    /// Tells how much it is by now.
    package func tell(_ traffic: LinkTraffic) {
        write(0, traffic.bytesIn)
        write(1, traffic.bytesOut)
        write(2, traffic.messagesIn)
        write(3, traffic.messagesOut)
        write(4, traffic.payloadIn)
        write(5, traffic.payloadOut)
    }

    @inline(__always)
    private func read(_ index: Int) -> Int { Word(at: words + index).load(ordering: .relaxed) }

    @inline(__always)
    private func write(_ index: Int, _ value: Int) { Word(at: words + index).store(value, ordering: .relaxed) }
}

/// Hears of what a connection measures by itself.
public protocol LinkObserver: AnyObject, Sendable {
    /// A ping was answered after this long.
    ///
    /// Called on the connection's own thread: return at once.
    ///
    /// - Parameters:
    ///   - time: From when the ping left until its answer arrived.
    ///   - isAutomatic: Whether the connection had asked by itself.
    func roundTrip(_ time: Duration, isAutomatic: Bool)
}

/// A value that becomes known once, and those who wait for it.
package final class LinkOutcome<Value: Sendable>: Sendable {
    private enum State {
        case open([CheckedContinuation<Value, Never>])
        case settled(Value)
    }
    private let state = LockedValue(State.open([]))

    /// Nobody knows it yet.
    package init() {}

    /// What it is; nil while nobody knows.
    package var value: Value? {
        state.withLockedValue { if case .settled(let value) = $0 { value } else { nil } }
    }

    /// Makes the value known; only the first counts.
    package func settle(_ value: Value) {
        let waiters = state.withLockedValue { state -> [CheckedContinuation<Value, Never>] in
            guard case .open(let waiters) = state else { return [] }
            state = .settled(value)
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// Waits until it is known, also when the task is cancelled.
    package func wait() async -> Value {
        await withCheckedContinuation { waiter in
            let value = state.withLockedValue { state -> Value? in
                switch state {
                case .settled(let value): return value
                case .open(let waiters):
                    state = .open(waiters + [waiter])
                    return nil
                }
            }
            if let value { waiter.resume(returning: value) }
        }
    }
}

/// A clock of any kind, read as moments of one link's timeline.
@usableFromInline package struct LinkTime: Sendable {
    /// The present.
    @usableFromInline package let now: @Sendable () -> Moment
    /// Returns then; throws when the task is cancelled.
    @usableFromInline package let sleep: @Sendable (_ until: Moment) async throws -> Void

    /// A timeline that begins at the clock's present.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        now = { Moment(origin.duration(to: clock.now)) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0.offset), tolerance: nil) }
    }

    /// A timeline that runs already, on which one can sleep for a while.
    package init(now: @escaping @Sendable () -> Moment, pause: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        sleep = { try await pause($0 - now()) }
    }
}
