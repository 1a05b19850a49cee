import Holdfast
import Logging
import MachineCore
import ProtocolClient
import ProtocolCore
import WAMPCore
import WebSocketRuntime

/// Runs a `ClientMachine`: the shell around the rules of ``WAMPClient``.
///
/// What it knows is read from anywhere at any time, so it is behind a lock and no actor's. Nobody is called with the lock held.
final class WAMPDesk: Sendable {
    /// Something that the app waits for, or has.
    enum Pending {
        case call(WAMPReply<WAMPArguments>, WAMPRequest)
        case progress(CallMailbox, WAMPRequest)
        case publication(WAMPReply<WAMPID?>, WAMPRequest)
        case listener(Listener)
        /// Who has ended a subscription, and waits for the router's answer.
        case leaver(WAMPReply<Void>, WAMPRequest)
        case procedure(Offer)
    }
    struct Listener {
        let key: TopicKey
        let mailbox: EventMailbox
        /// Who waits for the subscription to stand for the first time.
        var reply: WAMPReply<Void>?
    }
    struct Offer {
        let registration: RegistrationRecord
        let handler: ProcedureHandler
        /// Who waits for the registration to stand for the first time.
        var reply: WAMPReply<Void>?
    }
    /// A handler at work.
    struct Running {
        let task: Task<Void, Never>
        /// Nil: it came as a whole.
        let input: CallMailbox?
        let registration: RegistrationRecord
        /// Whether the caller can still get its answer.
        var isAwaited = true
    }
    /// What is to be done without the lock.
    enum Deed {
        case call(WAMPReply<WAMPArguments>, Result<WAMPArguments, WAMPError>)
        case publication(WAMPReply<WAMPID?>, Result<WAMPID?, WAMPError>)
        case start(WAMPReply<Void>, Result<Void, WAMPError>)
        case wake(EventMailbox.Place)
        case announce(Changes)
        case finish(CallMailbox, Result<Void, WAMPError>)
        case cancel(Task<Void, Never>)
        case part(ConnectionEnd)
        case release(Pending)
        case tell(ClientInput)
        case log(WAMPError)
        case answer(ClientHandle, Result<WAMPArguments, WAMPFailure>)
        case joined(JoinedSession)
    }
    struct State {
        var machine: ClientMachine
        var effects: [ClientEffect] = []
        var link: WAMPLink?
        /// Something was put into its queue.
        var hasOutput = false
        var session: JoinedSession?
        /// Who the app is for this connection: nonces are used once.
        var identification: WAMPIdentification?
        var lastHandle: UInt64 = 0
        var pending: [ClientHandle: Pending] = [:]
        var running: [ClientHandle: Running] = [:]
        var proofs: [ClientHandle: Task<Void, Never>] = [:]
        var testaments: [WAMPTestament] = []
        /// Why there is no session at present.
        var cause: WAMPError?
        /// The machine has ended the connection, for that cause.
        var isDropped = false
        var isWaiting = false
        /// Why nothing more happens; the socket may still be closing.
        var ending: WAMPError?
        var isLeaving = false
        var isOver = false
        var deeds: [Deed] = []
    }

    let time: LinkTime
    let options: WAMPOptions
    let authentication: WAMPAuthentication
    let trace: WAMPTrace
    let secrets: SessionSecrets
    let socket: SocketReference
    private let timer: DeadlineTimer
    /// The state of the session.
    let changes = Changes()
    let state: LockedValue<State>

    init(
        _ socket: WebSocket, realm: String, authentication: WAMPAuthentication, options: WAMPOptions, time: LinkTime, seed: UInt64
    ) {
        (self.socket, timer) = (SocketReference(socket), DeadlineTimer(time))
        (self.authentication, self.options, self.time, secrets) = (authentication, options, time, socket.secrets)
        trace = WAMPTrace(options, hiding: secrets)
        for secret in authentication.secrets { secrets.hide(secret) }
        state = LockedValue(State(machine: ClientMachine(policy: options.policy(realm, authentication), seed: seed)))
    }

    // MARK: - Changes

    /// Tells the machine.
    func tell(_ input: ClientInput) { change { state, now in Self.tell(input, &state, now) } }

    static func tell(_ input: ClientInput, _ state: inout State, _ now: Moment) {
        guard !state.isOver else { return }
        state.machine.handle(input, at: now, into: &state.effects)
    }

    /// Changes what is known, then does what the machine asks for; whom that concerns is called without the lock.
    func change(_ body: (inout State, Moment) -> Void) {
        let (queue, deeds) = state.withLockedValue { state -> (OutgoingQueue<WAMPMessage>?, [Deed]) in
            let queue = state.link?.queue
            body(&state, time.now())
            for effect in state.effects { perform(effect, &state) }
            state.effects.removeAll(keepingCapacity: true)
            if !state.isOver, let deadline = state.machine.deadline, timer.ringsAfter(deadline) {
                timer.set(deadline) { [weak self] in self?.wake() }
            }
            defer { (state.deeds, state.hasOutput) = ([], false) }
            return (state.hasOutput ? state.link?.queue ?? queue : nil, state.deeds)
        }
        queue?.drain()
        for deed in deeds { perform(deed) }
    }

    private func perform(_ effect: ClientEffect, _ state: inout State) {
        switch effect {
        case .send(let message):
            state.link?.queue.put(.message(message))
            state.hasOutput = true
        case .prove(let handle, let method, let extra): prove(handle, method, extra, &state)
        case .check(let handle, let details): check(handle, details, &state)
        case .drop(let ending): drop(ending, &state)
        case .news(let news): hear(news, &state)
        }
    }

    private func perform(_ deed: Deed) {
        switch deed {
        case .call(let reply, let result): reply.end(result)
        case .publication(let reply, let result): reply.end(result)
        case .start(let reply, let result): reply.end(result)
        case .wake(let place): place.resume()
        case .announce(let changes): changes.announce()
        case .finish(let mailbox, let end): mailbox.finish(end)
        case .cancel(let task): task.cancel()
        case .part(let end): part(end, nil)
        case .release: break
        case .tell(let input): tell(input)
        case .log(let error): log(error)
        case .answer(let handle, let outcome): answer(handle, outcome)
        case .joined(let session):
            options.logger.info("session \(session.id) has joined \(session.realm)")
            restoreTestaments()
        }
    }

    private func wake() { change { state, now in if !state.isOver { state.machine.wake(at: now, into: &state.effects) } } }

    /// A handle that was never used.
    static func newHandle(_ state: inout State) -> ClientHandle {
        state.lastHandle += 1
        return ClientHandle(state.lastHandle)
    }

    // MARK: - The end

    /// Nothing more happens: everybody who waits is told.
    func finish(_ error: WAMPError?) {
        change { state, now in
            guard !state.isOver else { return }
            // A socket of the app's would live on, and with it a session that nobody listens to.
            state.deeds.append(.part(.stop))
            lose(&state, now)
            Self.tell(.leave(reason: WAMPURI.Close.closeRealm), &state, now)
            state.ending = state.ending ?? error ?? WAMPError(.closed)
            for effect in state.effects { if case .news(let news) = effect { hear(news, &state) } }
            state.effects.removeAll()
            state.isOver = true
            timer.cancel()
            // Whatever the machine has not ended by now.
            for handle in state.pending.keys { end(handle, nil, &state) }
            state.deeds += state.running.values.map { .cancel($0.task) }
            state.deeds += state.running.values.compactMap(\.input).map { .finish($0, .success(())) }
            state.deeds.append(.announce(changes))
            state.testaments = []
        }
    }

    /// Waits until all is over.
    func over() async {
        while !Task.isCancelled {
            let version = changes.version
            if state.withLockedValue(\.isOver) { return }
            await changes.next(after: version)
        }
    }

    // MARK: - What is known

    var clientState: WAMPState {
        state.withLockedValue { state in
            if let ending = state.ending { return .closed(ending.code == .closed ? nil : ending) }
            if let session = state.session { return .joined(session) }
            return state.isWaiting ? .waiting(state.cause) : .connecting
        }
    }

    /// Waits until the session has joined.
    func joined(within patience: Duration?) async throws(WAMPError) -> JoinedSession {
        let limit = patience.map { time.now() + $0.bounded }
        let timer = DeadlineTimer(time)
        if let limit { timer.set(limit) { [changes] in changes.announce() } }
        defer { timer.cancel() }
        while true {
            let version = changes.version
            switch clientState {
            case .joined(let session): return session
            case .closed(let error): throw error ?? WAMPError(.closed)
            case .connecting, .waiting: break
            }
            if Task.isCancelled { throw WAMPError(.cancelled) }
            if let limit, time.now() >= limit {
                throw WAMPError(.timedOut(wasSent: false), of: nil, because: state.withLockedValue(\.cause))
            }
            await changes.next(after: version)
        }
    }

    func log(_ error: WAMPError) { options.logger.warning("\(error)") }

    /// What says why something is not of its type often shows the thing itself.
    func log(undecodable error: WAMPError) { log(options.logsPayloads ? error : WAMPError(error.code, request: error.request)) }
}
