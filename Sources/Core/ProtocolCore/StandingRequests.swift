public import MachineCore

/// Requests that must hold on every connection, such as subscriptions.
///
/// The app wants them; the peer grants each of them until the connection ends. At most one request per key is in flight, so each answer is
/// unambiguous. All wanted keys are requested again on each connection. If the peer refuses a key temporarily, it is requested again after
/// a pause that grows.
public struct StandingRequests<Key: Hashable & Sendable>: Hashable, Sendable {
    /// The message to send, or the problem to report.
    public enum Step: Hashable, Sendable {
        /// Request the key. ``granted(_:)`` or ``refused(_:forGood:at:)`` follows.
        case ask(Key)
        /// Tell the peer that the key is no longer wanted. No answer follows.
        case withdraw(Key)
        /// The peer has not answered in time. The connection may be half open.
        case unanswered(Key)
    }
    private enum Standing: Hashable, Sendable {
        /// Not requested on this connection.
        case absent
        case asked(until: Moment)
        case granted
        /// Refused temporarily.
        case pausing(until: Moment)
    }
    private struct Request: Hashable, Sendable {
        let order: UInt64
        var standing = Standing.absent
        /// Whether the app no longer wants it while the answer to its request is still outstanding.
        var isLeft = false
        /// The number of refusals in a row.
        var refusals = 0

        var deadline: Moment? {
            switch standing {
            case .asked(let until) where until < .distantFuture: until
            case .pausing(let until): until
            case .absent, .asked, .granted: nil
            }
        }
    }
    private var requests: [Key: Request] = [:]
    /// Whether the connection serves the protocol: true between ``open(at:)`` and ``lose()``.
    public private(set) var isOpen = false
    private var alarm: Moment?
    private var isPaused = false
    private var lastOrder: UInt64 = 0
    private let patience: Duration
    private let backoff: Backoff
    private var random: SplitMix64

    /// Creates an empty collection.
    ///
    /// - Parameters:
    ///   - patience: How long the peer may take to answer.
    ///   - backoff: The pauses after refusals.
    ///   - seed: The seed of the jitter. Use another one for each client.
    public init(patience: Duration = .seconds(15), backoff: Backoff = Backoff(), seed: UInt64) {
        (self.patience, self.backoff, random) = (patience, backoff, SplitMix64(seed: seed))
    }

    /// The wanted keys, in the order in which they were added.
    public var wanted: [Key] { inOrder.filter { requests[$0]?.isLeft == false } }
    /// Returns whether the key is wanted and the peer has granted it on this connection.
    public func isGranted(_ key: Key) -> Bool { requests[key].map { $0.standing == .granted && !$0.isLeft } ?? false }
    /// Returns whether the key is wanted.
    public func isWanted(_ key: Key) -> Bool { requests[key]?.isLeft == false }

    /// The moment at which to call ``wake(at:)``, which may return nothing yet.
    public var deadline: Moment? { isPaused ? nil : alarm }

    /// Adds a wanted key.
    ///
    /// Returns the message to send, if any.
    public mutating func want(_ key: Key, at now: Moment) -> Step? {
        if requests[key] != nil {
            requests[key]?.isLeft = false
            return nil
        }
        lastOrder += 1
        requests[key] = Request(order: lastOrder)
        return ask(key, at: now)
    }

    /// Removes a wanted key.
    ///
    /// Returns the message to send, if any.
    public mutating func drop(_ key: Key) -> Step? {
        switch requests[key]?.standing {
        case .asked where isOpen:
            requests[key]?.isLeft = true
            return nil
        case .granted where isOpen:
            requests[key] = nil
            return .withdraw(key)
        default:
            requests[key] = nil
            return nil
        }
    }

    /// Notes that the connection serves the protocol.
    ///
    /// Returns the requests for all wanted keys, in order.
    public mutating func open(at now: Moment) -> [Step] {
        isOpen = true
        return inOrder.compactMap { ask($0, at: now) }
    }

    /// Notes that the connection is gone.
    ///
    /// Its grants are void.
    public mutating func lose() {
        (isOpen, isPaused, alarm) = (false, false, nil)
        for key in inOrder {
            if requests[key]?.isLeft == true { requests[key] = nil } else { requests[key]?.standing = .absent }
        }
    }

    /// Stops the answer deadlines, because nothing is read; for `ProtocolInput.paused`.
    public mutating func pause() { isPaused = true }

    /// Restarts the answer deadlines from now; for `ProtocolInput.resumed`.
    public mutating func resume(at now: Moment) {
        isPaused = false
        for (key, request) in requests {
            if case .asked(let until) = request.standing, until < .distantFuture { requests[key]?.standing = .asked(until: now + patience) }
        }
        alarm = requests.values.compactMap({ $0.deadline }).min()
    }

    /// Notes that the peer has granted the key.
    ///
    /// Withdraws it if it is no longer wanted.
    public mutating func granted(_ key: Key) -> Step? {
        guard isOpen else { return nil }
        guard requests[key]?.isLeft == false else {
            requests[key] = nil
            return .withdraw(key)
        }
        requests[key]?.standing = .granted
        requests[key]?.refusals = 0
        return nil
    }

    /// Notes that the peer refuses the key or has revoked it; returns whether the key was still wanted, so that the app can be told.
    ///
    /// - Parameter isFinal: Whether the peer would refuse it again. If not, it is requested again after a pause.
    public mutating func refused(_ key: Key, forGood isFinal: Bool, at now: Moment) -> Bool {
        guard var request = requests[key] else { return false }
        guard !isFinal, !request.isLeft else {
            requests[key] = nil
            return !request.isLeft
        }
        guard isOpen else { return true }
        request.refusals += 1
        let end = now + backoff.delay(attempt: request.refusals, using: &random)
        request.standing = .pausing(until: end)
        requests[key] = request
        remind(at: end)
        return true
    }

    /// Returns what is due: requests to repeat, and requests without an answer.
    public mutating func wake(at now: Moment) -> [Step] {
        guard let deadline, deadline <= now else { return [] }
        let steps = inOrder.compactMap { (key) -> Step? in
            switch requests[key]?.standing {
            case .pausing(let until) where until <= now: return ask(key, at: now)
            case .asked(let until) where until <= now:
                // Reported once. A later answer still counts.
                requests[key]?.standing = .asked(until: .distantFuture)
                return .unanswered(key)
            default: return nil
            }
        }
        alarm = requests.values.compactMap({ $0.deadline }).min()
        return steps
    }

    private var inOrder: [Key] { requests.sorted { $0.value.order < $1.value.order }.map({ $0.key }) }

    private mutating func ask(_ key: Key, at now: Moment) -> Step? {
        guard isOpen else { return nil }
        requests[key]?.standing = .asked(until: now + patience)
        remind(at: now + patience)
        return .ask(key)
    }

    private mutating func remind(at moment: Moment) { alarm = .earliest(alarm, moment) }
}
