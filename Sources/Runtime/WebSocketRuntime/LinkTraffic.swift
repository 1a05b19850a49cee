import Atomics
public import MachineCore

/// The traffic of a connection since its handshake.
public struct LinkTraffic: Hashable, Sendable {
    /// Bytes of received frames, including headers and control frames, without the overhead of TLS and TCP.
    ///
    /// Bytes are counted when they are parsed: bytes that wait because the app is too slow are not included.
    public var bytesIn: Int
    /// Bytes of frames given to the socket, including headers and control frames, without the overhead of TLS and TCP.
    public var bytesOut: Int
    /// The number of completely received messages.
    public var messagesIn: Int
    /// The number of completely framed messages; a message that was accepted and still waits is not included.
    public var messagesOut: Int
    /// Bytes of received messages, after inflating.
    public var payloadIn: Int
    /// Bytes of framed messages, before deflating.
    public var payloadOut: Int

    /// Creates a record with the given values.
    public init(
        bytesIn: Int = 0, bytesOut: Int = 0, messagesIn: Int = 0, messagesOut: Int = 0, payloadIn: Int = 0, payloadOut: Int = 0
    ) {
        (self.bytesIn, self.bytesOut, self.messagesIn) = (bytesIn, bytesOut, messagesIn)
        (self.messagesOut, self.payloadIn, self.payloadOut) = (messagesOut, payloadIn, payloadOut)
    }

    /// The ratio of message bytes to bytes on the wire, for both directions together; nil without any traffic.
    ///
    /// Without compression it is a little less than 1, because frames have headers.
    public var compressionRatio: Double? {
        bytesIn + bytesOut == 0 ? nil : Double(payloadIn + payloadOut) / Double(bytesIn + bytesOut)
    }

    /// Adds two records.
    public static func + (lhs: LinkTraffic, rhs: LinkTraffic) -> LinkTraffic {
        LinkTraffic(
            bytesIn: lhs.bytesIn + rhs.bytesIn, bytesOut: lhs.bytesOut + rhs.bytesOut, messagesIn: lhs.messagesIn + rhs.messagesIn,
            messagesOut: lhs.messagesOut + rhs.messagesOut, payloadIn: lhs.payloadIn + rhs.payloadIn,
            payloadOut: lhs.payloadOut + rhs.payloadOut)
    }

    /// Subtracts an earlier record.
    public static func - (lhs: LinkTraffic, rhs: LinkTraffic) -> LinkTraffic {
        LinkTraffic(
            bytesIn: lhs.bytesIn - rhs.bytesIn, bytesOut: lhs.bytesOut - rhs.bytesOut, messagesIn: lhs.messagesIn - rhs.messagesIn,
            messagesOut: lhs.messagesOut - rhs.messagesOut, payloadIn: lhs.payloadIn - rhs.payloadIn,
            payloadOut: lhs.payloadOut - rhs.payloadOut)
    }

    /// Adds another record.
    public static func += (lhs: inout LinkTraffic, rhs: LinkTraffic) { lhs = lhs + rhs }
}

/// Counters of a connection's traffic, updated by the one owner once per event loop turn, and readable from any thread at any time.
///
/// They are one block of memory, because idle connections have one too.
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

    /// The last reported traffic.
    package var traffic: LinkTraffic {
        LinkTraffic(bytesIn: read(0), bytesOut: read(1), messagesIn: read(2), messagesOut: read(3), payloadIn: read(4), payloadOut: read(5))
    }

    /// Reports the current traffic.
    package func notify(_ traffic: LinkTraffic) {
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

/// An observer of a connection's own measurements.
public protocol LinkObserver: AnyObject, Sendable {
    /// Reports the round-trip time of an answered ping.
    ///
    /// Called on the connection's own thread, so it must return at once.
    ///
    /// - Parameters:
    ///   - time: The time from sending the ping to receiving its answer.
    ///   - isAutomatic: Whether the connection sent the ping by itself.
    func roundTrip(_ time: Duration, isAutomatic: Bool)
}

/// A value that is set once, with the tasks that wait for it.
package final class LinkOutcome<Value: Sendable>: Sendable {
    private enum State {
        case open([CheckedContinuation<Value, Never>])
        case settled(Value)
    }
    private let state = LockedValue(State.open([]))

    /// Creates an outcome without a value.
    package init() {}

    /// The value; nil until it is set.
    package var value: Value? {
        state.withLockedValue { if case .settled(let value) = $0 { value } else { nil } }
    }

    /// Sets the value; only the first call counts.
    package func settle(_ value: Value) {
        let waiters = state.withLockedValue { state -> [CheckedContinuation<Value, Never>] in
            guard case .open(let waiters) = state else { return [] }
            state = .settled(value)
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// Waits until the value is set; cancellation of the task does not end the wait.
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

/// A clock of any type, read as moments of one link's timeline.
@usableFromInline package struct LinkTime: Sendable {
    /// Returns the current moment.
    @usableFromInline package let now: @Sendable () -> Moment
    /// Sleeps until a moment; throws when the task is cancelled.
    @usableFromInline package let sleep: @Sendable (_ until: Moment) async throws -> Void

    /// Creates a timeline that begins now.
    @usableFromInline package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        now = { Moment(origin.duration(to: clock.now)) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0.offset), tolerance: nil) }
    }

    /// Creates a timeline from a running one, with a function that sleeps for a duration.
    package init(now: @escaping @Sendable () -> Moment, pause: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        sleep = { try await pause($0 - now()) }
    }
}
