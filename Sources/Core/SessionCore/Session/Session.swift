package import MachineCore

/// The complete state machine of a WebSocket that survives reconnects, composed of smaller machines.
///
/// `Reconnector` owns the connections. `CredentialKeeper`, ``AppLife`` and ``PathWatch`` tell it what to do. `HeartbeatPacer` finds
/// the longest safe silence if the policy asks for that. Connections are identified by their generation. Two exist at once only while one
/// takes over from the other.
package struct Session: Machine, Hashable {
    /// An event that affects the session.
    package enum Input: Hashable, Sendable {
        /// The app wants a connection: the first one, or one after `disconnect`.
        case start
        /// The app wants no connection until `start` or `reconnectNow`. Waiting messages keep waiting, as the policy says.
        case disconnect
        /// The app wants the next attempt now. If a connection is open, it is probed.
        case reconnectNow
        /// The connection of this generation is open.
        case opened(generation: UInt64)
        /// An automatic ping of the connection of this generation was answered.
        case answered(generation: UInt64)
        /// The connection of this generation is gone, or its attempt has failed.
        case lost(generation: UInt64, Loss)
        /// A protocol runs over the connections from now on, or no longer does.
        case awaitReadiness(Bool)
        /// The protocol reports that the connection of this generation serves it.
        case ready(generation: UInt64)
        /// The protocol rejects the connection of this generation, which will be closed.
        case rejected(generation: UInt64)
        /// The provider returned a credential that is valid for this long from now; nil if it does not expire.
        case credentialProvided(fetch: UInt64, expiresIn: Duration?)
        /// The provider failed. `isRetryable` says whether asking again can help.
        case credentialFailed(fetch: UInt64, isRetryable: Bool)
        /// The app entered or left the foreground.
        case life(AppLife.Input)
        /// The network changed.
        case path(PathWatch.Input)
        /// A caller sends a message; see `SendQueue/Input/submit(id:lane:byteCount:patience:)`.
        case submit(id: UInt64, lane: Lane, byteCount: Int, patience: Duration?)
        /// The caller withdraws the message.
        case withdraw(UInt64)
        /// The connection took the message that it was handed.
        case taken(UInt64)
        /// The connection did not take the message: it is ending, or its buffer is full and ``room`` follows.
        case blocked(UInt64)
        /// The connection accepts messages again.
        case room
        /// Sending ends: waiting and later messages are refused.
        case finishSending
        /// The app ends the session.
        case close
    }
    /// An order to the owner, or a result.
    package enum Effect: Hashable, Sendable {
        /// Open a connection, with the newest credential if there is a provider.
        case connect(Reconnector.Attempt)
        /// Close the connection of this generation, or cancel its attempt. Later events of it are ignored.
        case disconnect(generation: UInt64, DisconnectReason)
        /// A newer connection has taken over: send the remaining messages on this one, then close it.
        case retire(generation: UInt64)
        /// Check at once whether the connection of this generation is alive, and drop it if it is not.
        case probe(generation: UInt64)
        /// From now on, send a ping on the connection of this generation after a silence of this length.
        case setPingInterval(generation: UInt64, Duration)
        /// Ask the provider. Pass this number with the result, and keep the new credential in place of the old one.
        case fetchCredential(UInt64)
        /// Cancel the running fetch: it took too long, or the session is over.
        case cancelFetch(isLate: Bool)
        /// Drop every connection at once, including those that are closing: there is no time for a handshake.
        case abandon
        /// Hand this message to the connection of this generation.
        ///
        /// Answer with ``Input/taken(_:)`` or ``Input/blocked(_:)`` exactly once, also if the connection ends meanwhile, and also after the
        /// end of the session. Only the answer shows that a message was not sent and may be sent again.
        case transmit(UInt64, generation: UInt64)
        /// Take back the message that was handed over if the connection has not taken it yet. Answer as before.
        case recall(UInt64)
        /// The message ended without being sent: discard its payload and tell its caller.
        case refused(UInt64, SendRefusal)
        /// The volume of the waiting messages has changed to this.
        case backlog(SendVolume)
        /// The phase has changed to this one.
        case report(Reconnector.Phase)
    }
    /// How to close a connection.
    package enum DisconnectReason: Hashable, Sendable {
        /// With the close code that the app chose.
        case asked
        /// With 1001, because the app is in the background or the network is gone.
        case goingAway
    }
    /// The part that holds back attempts.
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
    /// Finds the longest safe silence; nil if the policy does not ask for that.
    var pacer: HeartbeatPacer?
    /// The connection that was probed and has not answered.
    var doubted: UInt64?
    /// The interface of the last path.
    var interface: String?
    var queue: SendQueue
    /// The connection that messages are handed to.
    var serving: UInt64?
    /// The connection that was handed a message and has not answered.
    var handedTo: UInt64?

    /// Creates a session that has not started.
    ///
    /// - Parameters:
    ///   - policy: The rules of the session.
    ///   - endpoints: The number of endpoints to choose from.
    ///   - hasCredentials: Whether a provider is asked for a credential before every attempt.
    ///   - seed: The seed of the jitter. Use another one for each client.
    package init(policy: SessionPolicy = SessionPolicy(), endpoints: Int = 1, hasCredentials: Bool = false, seed: UInt64) {
        reconnector = Reconnector(policy: policy.reconnect, endpoints: endpoints, hasCredentials: hasCredentials, seed: seed)
        keeper = hasCredentials ? CredentialKeeper(policy: policy.credentials) : nil
        (life, path) = (AppLife(policy: policy.background), PathWatch(policy: policy.path))
        pacer = policy.heartbeat.pacer
        queue = SendQueue(policy: policy.sending)
    }

    /// What the session is doing.
    package var phase: Reconnector.Phase { reconnector.phase }

    /// The moment at which something is due; nil if only an input can change the state.
    package var deadline: Moment? {
        isOver ? nil : .earliest(reconnector.deadline, keeper?.deadline, life.deadline, queue.deadline)
    }

    var isOver: Bool { if case .stopped = phase { true } else { false } }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// Applies the passing of time.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        if isOver { return }
        let served = phase.serving
        feedLife(at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        keep(at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        reconnect(.asked, at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        feedQueue(at: now, into: &effects) { $0.wake(at: now, into: &$1) }
        followPace(since: served, at: now, into: &effects)
    }
}

/// How the outcome of connections adjusts the heartbeat interval.
extension Session {
    mutating func noteAnswered(_ generation: UInt64, at now: Moment, into effects: inout [Effect]) {
        guard generation == phase.serving else { return }
        // A probe does not wait for silence, so its answer proves nothing about the interval.
        if doubted.take() == generation { return }
        setPace(into: &effects) { $0.answered(at: now) }
    }

    mutating func noteSilence(_ generation: UInt64, _ loss: Loss) {
        guard generation == phase.serving else { return }
        let isSilent = loss.wasIdle || loss.cause == .unresponsive
        // If the network was lost or the app was away, the loss proves nothing about the interval.
        pacer?.lost(wasIdle: isSilent && doubted != generation)
    }

    mutating func noteInterface(_ input: PathWatch.Input, into effects: inout [Effect]) {
        guard case .satisfied(let path) = input else { return }
        let isOther = interface.map { $0 != path.interface } ?? false
        interface = path.interface
        if isOther { setPace(into: &effects) { $0.moved() } }
    }

    /// Tells the pacer if another connection than `before` serves, or none.
    mutating func followPace(since before: UInt64?, at now: Moment, into effects: inout [Effect]) {
        let present = phase.serving
        guard pacer != nil, present != before else { return }
        pacer?.lost(wasIdle: false)  // In case no cause was reported.
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

/// The rules of a `Session`.
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
    /// What happens to messages that cannot be sent at once.
    public var sending = SendPolicy()

    /// Creates a policy with the defaults.
    public init() {}
}
