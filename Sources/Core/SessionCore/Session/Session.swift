public import MachineCore

/// The whole life of a WebSocket that outlives its connections, put together out of small machines.
///
/// ``Reconnector`` owns the connections; ``CredentialKeeper``, ``AppLife`` and ``PathWatch`` say what they ask of it, and
/// ``HeartbeatPacer`` finds how long a silence may be, if that is to be found. Connections are known by
/// their generation, and two exist at once only while one takes over from the other.
public struct Session: Machine, Hashable {
    /// What can happen to a session.
    public enum Input: Hashable, Sendable {
        /// The app wants a connection: the first one, or one after `disconnect`.
        case start
        /// The app wants no connection until `start` or `reconnectNow`; what waits to be sent goes on waiting, as policy says.
        case disconnect
        /// The app wants the next attempt now; of an open connection it wants to know whether it lives.
        case reconnectNow
        /// The connection of this generation is open.
        case opened(generation: UInt64)
        /// An automatic ping of the connection of this generation was answered.
        case answered(generation: UInt64)
        /// The connection of this generation, or the attempt at it, is gone.
        case lost(generation: UInt64, Loss)
        /// A protocol runs over the connections from now on, or none does any more.
        case awaitReadiness(Bool)
        /// The protocol says that the connection of this generation serves it.
        case ready(generation: UInt64)
        /// The protocol gives up the connection of this generation, which is to be closed.
        case rejected(generation: UInt64)
        /// The provider gave a credential that lives for so long from now; nil: it does not expire.
        case credentialProvided(fetch: UInt64, expiresIn: Duration?)
        /// The provider failed, and says whether asking it again can help.
        case credentialFailed(fetch: UInt64, isRetryable: Bool)
        /// The app came or went.
        case life(AppLife.Input)
        /// The network changed.
        case path(PathWatch.Input)
        /// Someone sends a message; see ``SendQueue/Input/submit(id:lane:byteCount:patience:)``.
        case submit(id: UInt64, lane: Lane, byteCount: Int, patience: Duration?)
        /// Whoever sent the message wants that no more.
        case withdraw(UInt64)
        /// The connection took the message that it was handed.
        case taken(UInt64)
        /// The connection did not take it: it is ending, or its buffer is full and ``room`` follows.
        case blocked(UInt64)
        /// The connection takes messages again.
        case room
        /// Nothing is to be sent any more: what waits is refused, and whatever comes.
        case finishSending
        /// The app wants no more.
        case close
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Open a connection, with the newest credential if there is a provider.
        case connect(Reconnector.Attempt)
        /// Close the connection of this generation, or give up the attempt at it. Nothing that becomes of it matters any more.
        case disconnect(generation: UInt64, Farewell)
        /// A newer connection has taken over from this one: send what it still has to send, then close it.
        case retire(generation: UInt64)
        /// Ask the connection of this generation at once whether it lives, and drop it if it does not.
        case probe(generation: UInt64)
        /// Let silence of this length call for a ping on the connection of this generation, from now on.
        case setPingInterval(generation: UInt64, Duration)
        /// Ask the provider; tell the number with what becomes of it, and keep the credential in place of the last.
        case fetchCredential(UInt64)
        /// Cancel the fetch that runs: it has taken too long, or else nobody wants a credential any more.
        case cancelFetch(isLate: Bool)
        /// Drop every connection at once, also those that are being closed: there is no time for a handshake.
        case abandon
        /// Hand this message to the connection of this generation.
        ///
        /// Answer ``Input/taken(_:)`` or ``Input/blocked(_:)``, exactly once, also if the connection ends meanwhile, and also after the
        /// end of the session: only then is it known that a message did not go, and may go again.
        case transmit(UInt64, generation: UInt64)
        /// Take the message that is handed over back if the connection has not taken it yet; answer as before.
        case recall(UInt64)
        /// The message ended without having left: forget its payload and tell its caller.
        case refused(UInt64, SendRefusal)
        /// So much waits to be sent now.
        case backlog(SendVolume)
        /// The session is now in this phase.
        case report(Reconnector.Phase)
    }
    /// How to part with a connection.
    public enum Farewell: Hashable, Sendable {
        /// As the app asked, with its own close code.
        case asked
        /// With 1001, for the app is in the background, or no network leads anywhere.
        case goingAway
    }
    /// Who wants that nothing is tried.
    enum Holder: Hashable { case life, path }

    var reconnector: Reconnector
    var keeper: CredentialKeeper?
    var life: AppLife
    var path: PathWatch
    /// An attempt that waits for its credential.
    var pending: Reconnector.Attempt?
    var holders: Set<Holder> = []
    /// Whether the keeper knows of a connection.
    var isConnected = false
    /// What finds how long a silence may be; nil: nothing does.
    var pacer: HeartbeatPacer?
    /// The connection that was asked out of turn whether it lives, and has not answered.
    var doubted: UInt64?
    /// The interface that the last path took.
    var interface: String?
    var queue: SendQueue
    /// The connection that messages are handed to.
    var serving: UInt64?
    /// The connection that has a message in hand and has not answered.
    var handedTo: UInt64?

    /// A session that has not started.
    ///
    /// - Parameters:
    ///   - policy: What it obeys.
    ///   - endpoints: How many there are to choose from.
    ///   - hasCredentials: Whether there is a provider to be asked before every attempt.
    ///   - seed: Where the jitter starts; give each client another.
    public init(policy: SessionPolicy = SessionPolicy(), endpoints: Int = 1, hasCredentials: Bool = false, seed: UInt64) {
        reconnector = Reconnector(policy: policy.reconnect, endpoints: endpoints, hasCredentials: hasCredentials, seed: seed)
        keeper = hasCredentials ? CredentialKeeper(policy: policy.credentials) : nil
        (life, path) = (AppLife(policy: policy.background), PathWatch(policy: policy.path))
        pacer = policy.heartbeat.pacer
        queue = SendQueue(policy: policy.sending)
    }

    /// What the session is doing.
    public var phase: Reconnector.Phase { reconnector.phase }

    /// When something is to happen by itself; nil while only an input can change anything.
    public var deadline: Moment? {
        isOver ? nil : .earliest(reconnector.deadline, keeper?.deadline, life.deadline, queue.deadline)
    }

    var isOver: Bool { if case .stopped = phase { true } else { false } }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        if handleSending(input, at: now, into: &effects) || isOver { return }
        let served = phase.serving
        switch input {
        case .start: reconnect(.start, at: now, into: &effects)
        case .disconnect: reconnect(.disconnect, at: now, into: &effects)
        case .reconnectNow:
            probe(into: &effects)
            reconnect(.retryNow, at: now, into: &effects)
        case .opened(let generation): reconnect(.opened(generation: generation), at: now, into: &effects)
        case .answered(let generation): noteAnswered(generation, at: now, into: &effects)
        case .lost(let generation, let loss):
            noteSilence(generation, loss)
            reconnect(.lost(generation: generation, loss), at: now, into: &effects)
        case .awaitReadiness(let isAwaited): reconnect(.awaitReadiness(isAwaited), at: now, into: &effects)
        case .ready(let generation): reconnect(.ready(generation: generation), at: now, into: &effects)
        case .rejected(let generation): reconnect(.rejected(generation: generation), at: now, into: &effects)
        case .credentialProvided(let fetch, let life): keep(.provided(fetch: fetch, expiresIn: life), at: now, into: &effects)
        case .credentialFailed(let fetch, let isRetryable): keep(.failed(fetch: fetch, isRetryable: isRetryable), at: now, into: &effects)
        case .life(let input): feedLife(at: now, into: &effects) { $0.handle(input, at: now, into: &$1) }
        case .path(let input):
            noteInterface(input, into: &effects)
            feedPath(input, at: now, into: &effects)
        case .close: reconnect(.stop, at: now, into: &effects)
        case .submit, .withdraw, .taken, .blocked, .room, .finishSending: break
        }
        followPace(since: served, at: now, into: &effects)
    }

    /// Applies the passing of time; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        if isOver { return }
        let served = phase.serving
        feedLife(at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        keep(at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        reconnect(.asked, at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        feedQueue(at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        followPace(since: served, at: now, into: &effects)
    }
}

/// What the lives of the connections say of how long a silence may be.
extension Session {
    mutating func noteAnswered(_ generation: UInt64, at now: Moment, into effects: inout [Effect]) {
        guard generation == phase.serving else { return }
        // A probe waits for no silence, so its answer says nothing of how long one may be.
        if doubted.take() == generation { return }
        setPace(into: &effects) { $0.answered(at: now) }
    }

    mutating func noteSilence(_ generation: UInt64, _ loss: Loss) {
        guard generation == phase.serving else { return }
        let isSilent = loss.wasIdle || loss.cause == .unresponsive
        // What died of a lost network, or while the app was away, says nothing of the interval.
        pacer?.lost(wasIdle: isSilent && doubted != generation)
    }

    mutating func noteInterface(_ input: PathWatch.Input, into effects: inout [Effect]) {
        guard case .satisfied(let path) = input else { return }
        let isOther = interface.map { $0 != path.interface } ?? false
        interface = path.interface
        if isOther { setPace(into: &effects) { $0.moved() } }
    }

    /// Tells the pacer that another connection serves than `before`, or none.
    mutating func followPace(since before: UInt64?, at now: Moment, into effects: inout [Effect]) {
        let present = phase.serving
        guard pacer != nil, present != before else { return }
        pacer?.lost(wasIdle: false)  // If nobody said why.
        guard let present, let interval = pacer?.interval else { return }
        pacer?.opened(at: now)
        effects.append(.setPingInterval(generation: present, interval))
    }

    private mutating func setPace(into effects: inout [Effect], _ body: (inout HeartbeatPacer) -> Void) {
        guard var next = pacer else { return }
        body(&next)
        if let serving = phase.serving, next.interval != pacer?.interval {
            effects.append(.setPingInterval(generation: serving, next.interval))
        }
        pacer = next
    }
}

/// What a ``Session`` obeys.
public struct SessionPolicy: Hashable, Sendable {
    /// When to connect again, and when to give up.
    public var reconnect = ReconnectPolicy()
    /// When to ask for fresh credentials.
    public var credentials = CredentialPolicy()
    /// What to do while the app is in the background.
    public var background = BackgroundPolicy.close(after: .seconds(3))
    /// How long a connection may be silent.
    public var heartbeat = HeartbeatPolicy.fixed
    /// What to do about the network.
    public var path = PathPolicy()
    /// What becomes of messages that cannot go out at once.
    public var sending = SendPolicy()

    /// The defaults.
    public init() {}
}
