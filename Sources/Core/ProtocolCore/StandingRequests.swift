public import MachineCore

/// What is to stand on every connection, such as subscriptions: wanted by the app, and granted by the peer for as long as the connection lasts.
///
/// At most one question about a key is under way, so an answer says where it stands. What was asked for is asked for anew on each connection; what is
/// refused for now is asked for again after a pause, which grows.
public struct StandingRequests<Key: Hashable & Sendable>: Hashable, Sendable {
    /// What is to be sent.
    public enum Step: Hashable, Sendable {
        /// Ask for it: ``granted(_:)`` or ``refused(_:forGood:at:)`` follows.
        case ask(Key)
        /// Say that it is wanted no more: nothing follows.
        case withdraw(Key)
        /// The peer has not answered in time. The connection may be half open.
        case unanswered(Key)
    }
    private enum Standing: Hashable, Sendable {
        /// Not asked for on this connection.
        case absent
        case asked(until: Moment)
        case granted
        /// Refused for now.
        case pausing(until: Moment)
    }
    private struct Wish: Hashable, Sendable {
        let order: UInt64
        var standing = Standing.absent
        /// No more, but the answer to the question for it is still to come.
        var isLeft = false
        /// Refusals in a row.
        var refusals = 0

        var deadline: Moment? {
            switch standing {
            case .asked(let until) where until < .distantFuture: until
            case .pausing(let until): until
            case .absent, .asked, .granted: nil
            }
        }
    }
    private var wishes: [Key: Wish] = [:]
    /// Whether the connection serves the protocol: between ``open(at:)`` and ``lose()``.
    public private(set) var isOpen = false
    private var alarm: Moment?
    private var isPaused = false
    private var lastOrder: UInt64 = 0
    private let patience: Duration
    private let backoff: Backoff
    private var random: SplitMix64

    /// Nothing is wanted.
    ///
    /// - Parameters:
    ///   - patience: How long the peer may take to answer.
    ///   - backoff: The pauses after refusals.
    ///   - seed: Where the jitter starts; give each client another.
    public init(patience: Duration = .seconds(15), backoff: Backoff = Backoff(), seed: UInt64) {
        (self.patience, self.backoff, random) = (patience, backoff, SplitMix64(seed: seed))
    }

    /// What is wanted, in the order in which it was.
    public var wanted: [Key] { inOrder.filter { wishes[$0]?.isLeft == false } }
    /// Whether the peer has granted it on this connection, and it is still wanted.
    public func isGranted(_ key: Key) -> Bool { wishes[key].map { $0.standing == .granted && !$0.isLeft } ?? false }
    /// Whether it is wanted.
    public func isWanted(_ key: Key) -> Bool { wishes[key]?.isLeft == false }

    /// When to call ``wake(at:)``, which may have nothing to say yet.
    public var deadline: Moment? { isPaused ? nil : alarm }

    /// It is wanted from now on.
    public mutating func want(_ key: Key, at now: Moment) -> Step? {
        if wishes[key] != nil {
            wishes[key]?.isLeft = false
            return nil
        }
        lastOrder += 1
        wishes[key] = Wish(order: lastOrder)
        return ask(key, at: now)
    }

    /// It is wanted no more.
    public mutating func drop(_ key: Key) -> Step? {
        switch wishes[key]?.standing {
        case .asked where isOpen:
            wishes[key]?.isLeft = true
            return nil
        case .granted where isOpen:
            wishes[key] = nil
            return .withdraw(key)
        default:
            wishes[key] = nil
            return nil
        }
    }

    /// The connection serves the protocol: asks for all that is wanted, in order.
    public mutating func open(at now: Moment) -> [Step] {
        isOpen = true
        return inOrder.compactMap { ask($0, at: now) }
    }

    /// The connection is gone, and with it what was granted.
    public mutating func lose() {
        (isOpen, isPaused, alarm) = (false, false, nil)
        for key in inOrder {
            if wishes[key]?.isLeft == true { wishes[key] = nil } else { wishes[key]?.standing = .absent }
        }
    }

    /// Nothing is read any more, so no answer is late: for `ProtocolInput.paused`.
    public mutating func pause() { isPaused = true }

    /// Answers are read again, and have their whole time: for `ProtocolInput.resumed`.
    public mutating func resume(at now: Moment) {
        isPaused = false
        for (key, wish) in wishes {
            if case .asked(let until) = wish.standing, until < .distantFuture { wishes[key]?.standing = .asked(until: now + patience) }
        }
        alarm = wishes.values.compactMap(\.deadline).min()
    }

    /// The peer grants it; what nobody wants any more is withdrawn.
    public mutating func granted(_ key: Key) -> Step? {
        guard isOpen else { return nil }
        guard wishes[key]?.isLeft == false else {
            wishes[key] = nil
            return .withdraw(key)
        }
        wishes[key]?.standing = .granted
        wishes[key]?.refusals = 0
        return nil
    }

    /// The peer does not grant it, or does no more; false if nobody wants it, who could be told.
    ///
    /// - Parameter isFinal: Whether it would be refused again. If not, it is asked for again after a pause.
    public mutating func refused(_ key: Key, forGood isFinal: Bool, at now: Moment) -> Bool {
        guard var wish = wishes[key] else { return false }
        guard !isFinal, !wish.isLeft else {
            wishes[key] = nil
            return !wish.isLeft
        }
        guard isOpen else { return true }
        wish.refusals += 1
        let end = now + backoff.delay(attempt: wish.refusals, using: &random)
        wish.standing = .pausing(until: end)
        wishes[key] = wish
        remind(at: end)
        return true
    }

    /// What is due: another try, or an answer that has not come.
    public mutating func wake(at now: Moment) -> [Step] {
        guard let deadline, deadline <= now else { return [] }
        let steps = inOrder.compactMap { (key) -> Step? in
            switch wishes[key]?.standing {
            case .pausing(let until) where until <= now: return ask(key, at: now)
            case .asked(let until) where until <= now:
                // Told once; an answer still counts.
                wishes[key]?.standing = .asked(until: .distantFuture)
                return .unanswered(key)
            default: return nil
            }
        }
        alarm = wishes.values.compactMap(\.deadline).min()
        return steps
    }

    private var inOrder: [Key] { wishes.sorted { $0.value.order < $1.value.order }.map(\.key) }

    private mutating func ask(_ key: Key, at now: Moment) -> Step? {
        guard isOpen else { return nil }
        wishes[key]?.standing = .asked(until: now + patience)
        remind(at: now + patience)
        return .ask(key)
    }

    private mutating func remind(at moment: Moment) { alarm = .earliest(alarm, moment) }
}
