public import MachineCore

/// Tells a live connection from a dead one by pings and pongs (RFC 6455 §5.5.2, §5.5.3).
///
/// Two kinds of ping share the wire. The automatic one goes out after `interval` without a byte from the peer,
/// and any byte answers it: only silence is death. An app's ping asks for the round trip and takes nothing but its pong
/// for an answer: every id is told ``Effect/roundTrip(id:_:)`` or ``Effect/expired(_:)``, exactly once.
///
/// A probe is an automatic ping that waits for no silence: for when there is a reason to doubt the link.
///
/// While the owner reads nothing because its own consumer is slow, no silence is held against the peer.
public struct Heartbeat: Machine, Hashable {
    /// What can happen to a connection that tells of its life.
    public enum Input: Hashable, Sendable {
        /// The app wants to know the round trip, and waits this long from the time the ping leaves.
        case pingRequested(id: UInt64, patience: Duration)
        /// The ping with this payload left for the socket: its time runs from here, not from when it was queued.
        case written([UInt8])
        /// A pong arrived.
        case pong([UInt8])
        /// What was sent in place of an automatic ping was answered with something else than a pong.
        case answered
        /// The automatic ping cannot be sent for now. It is not asked for again before another interval has passed.
        case postponed
        /// Bytes arrived, or the socket took bytes it could not take before. Cheap: call it once per read burst.
        case activity
        /// There is a reason to doubt the link, such as a lost path: ask now, unless an automatic ping is out already.
        ///
        /// As with any automatic ping, any byte after it left answers it, and silence for `patience` after it left is death.
        /// If reading stops before an answer, it is asked anew when reading goes on. It needs no `interval`.
        case probe
        /// Silence of this length calls for an automatic ping from now on; nil for none. The present silence counts from its start.
        case setInterval(Duration?)
        /// The owner stopped reading, for its consumer is slow.
        case paused
        /// The owner reads again.
        case resumed
        /// The connection is over.
        case ended
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Write a ping with this payload ahead of any queued data, and report ``Input/written(_:)``.
        case sendPing([UInt8])
        /// A ping came back after this long; the id is nil for an automatic one.
        case roundTrip(id: UInt64?, Duration)
        /// An app's ping got no answer in time, or can get none any more.
        case expired(UInt64)
        /// The peer was silent for `patience` after an automatic ping: fail the connection.
        case dead
    }

    /// How many of the app's pings may be on their way; one more expires at once.
    public static let capacity = 64

    var interval: Duration?
    let patience, stall: Duration
    let seed: UInt32
    var lastNumber: UInt32 = 0
    var lastActivity: Moment
    var isPaused = false
    var isEnded = false
    /// The pings without a pong, oldest first: the app's, and the newest automatic one.
    var pings: [Ping] = []

    /// The heartbeat of a connection that has just opened.
    ///
    /// - Parameters:
    ///   - interval: Silence from the peer that calls for an automatic ping; nil for none ever.
    ///   - patience: How long the peer may stay silent after an automatic ping has left.
    ///   - stall: How long a ping may wait for the socket to take it while no other byte moves.
    ///   - seed: Four random bytes for the payloads, so that no pong of another connection is taken for ours.
    ///   - now: When the connection opened.
    public init(
        interval: Duration? = .seconds(20), patience: Duration = .seconds(10), stall: Duration = .seconds(60),
        seed: UInt32, openedAt now: Moment = .start
    ) {
        (self.interval, self.patience, self.stall, self.seed, lastActivity) = (interval, patience, stall, seed, now)
    }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .pingRequested(let id, _) where isEnded || pings.count >= Self.capacity: effects.append(.expired(id))
        case .pingRequested(let id, let patience): send(id, patience, at: now, into: &effects)
        case .written(let payload): noteWritten(payload, at: now)
        case .pong(let payload): noteAnswered(payload, at: now, into: &effects)
        case .answered: noteAnswered(at: now, into: &effects)
        case .postponed: postpone(at: now)
        case .activity: lastActivity = now
        case .probe: probe(at: now, into: &effects)
        case .setInterval(let interval): self.interval = interval
        case .paused: isPaused = true
        case .resumed: if isPaused { resume(at: now, into: &effects) }
        case .ended: end(into: &effects)
        }
    }
}
