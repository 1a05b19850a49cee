import Holdfast
import Logging
import HoldfastProtocols
import ProtocolCore
import WAMPCore

/// Runs a `ClientMachine`.
typealias WAMPShell = ProtocolShell<WAMPView>

/// What is the same for all of a client's life.
struct WAMPContext: Sendable {
    let options: WAMPOptions
    let authentication: WAMPAuthentication
    let secrets: SessionSecrets
    let trace: WAMPTrace
    /// The state of the session.
    let changes = Changes()

    init(_ options: WAMPOptions, _ authentication: WAMPAuthentication, _ secrets: SessionSecrets) {
        (self.options, self.authentication, self.secrets) = (options, authentication, secrets)
        trace = WAMPTrace(options, hiding: secrets)
        for secret in authentication.secrets { secrets.hide(secret) }
    }

    func log(_ error: WAMPError) { options.logger.warning("\(error)") }

    /// What says why something is not of its type often shows the thing itself.
    func log(undecodable error: WAMPError) { log(options.logsPayloads ? error : WAMPError(error.code, request: error.request)) }
}

/// What a ``WAMPClient`` shows beside its machine: who waits for what, and how it stands with the router.
struct WAMPView: ProtocolView {
    typealias Rules = ClientMachine
    typealias Coding = WAMPCoding
    typealias Context = WAMPContext

    /// Something that the app waits for, or has.
    struct Pending {
        enum Purpose {
            case call(WAMPReply<WAMPArguments>)
            case progress(CallMailbox)
            case publication(WAMPReply<WAMPID?>)
            case listener(EventMailbox, TopicKey)
            /// Who has ended a subscription, and waits for the router's answer.
            case leaver(WAMPReply<Void>)
            case procedure(RegistrationRecord, ProcedureHandler)
        }
        let request: WAMPRequest
        let purpose: Purpose
        /// Who waits for the subscription or registration to stand for the first time.
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
    enum Action {
        case call(WAMPReply<WAMPArguments>, Result<WAMPArguments, WAMPError>)
        case publication(WAMPReply<WAMPID?>, Result<WAMPID?, WAMPError>)
        case start(WAMPReply<Void>, Result<Void, WAMPError>)
        case announce(Changes)
        /// The last reference to it must not go while the lock is held.
        case release(Pending)
        /// What is rare.
        case run(@Sendable (WAMPShell) -> Void)

        static func finish(_ mailbox: CallMailbox, _ end: Result<Void, WAMPError>) -> Action { .run { _ in mailbox.finish(end) } }
        static func cancel(_ task: Task<Void, Never>) -> Action { .run { _ in task.cancel() } }
        static func log(_ error: WAMPError) -> Action { .run { $0.context.log(error) } }
    }

    var coding: WAMPCoding?
    var session: JoinedSession?
    private var lastHandle: UInt64 = 0
    var pending: [ClientHandle: Pending] = [:]
    var running: [ClientHandle: Running] = [:]
    var proofs: [ClientHandle: Task<Void, Never>] = [:]
    /// Why no proof can be given, in full.
    var hopeless: WAMPError?
    /// Why there is no session at present.
    var cause: WAMPError?
    /// The machine has ended the connection, for that cause: it says more than that the connection was closed.
    private var isDropped = false
    private var isWaiting = false
    /// Why nothing more happens; the socket may still be closing.
    var ending: WAMPError?
    private(set) var isOver = false

    /// A handle that was never used.
    mutating func newHandle() -> ClientHandle {
        lastHandle += 1
        return ClientHandle(lastHandle)
    }

    var state: WAMPState {
        if let ending { return .closed(ending.code == .closed ? nil : ending) }
        if let session { return .joined(session) }
        return isWaiting ? .waiting(cause) : .connecting
    }

    // MARK: - The connection

    static func coding(for opening: Opening, in shell: WAMPShell) throws(ConnectionEnd) -> WAMPCoding {
        if let coding = WAMPCoding(opening, shell.context) { return coding }
        let error = WAMPError(.unsupported, detail: "the server agreed on no subprotocol of WAMP")
        shell.access { view in view.ending = view.ending ?? error }
        shell.changes.announce()
        throw .stop
    }

    mutating func open(_ coding: WAMPCoding, in shell: WAMPShell, _ actions: inout [Action]) {
        (self.coding, isWaiting, cause, isDropped, hopeless) = (coding, false, nil, false, nil)
        actions.append(.announce(shell.changes))
    }

    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: WAMPShell, _ actions: inout [Action]) {
        if let cause, !isDropped { self.cause = WAMPError(cause, hiding: shell.context.secrets) }
        if isRetrying { (isDropped, isWaiting) = (false, true) }
        if isRetrying || coding != nil { actions.append(.announce(shell.context.changes)) }
        guard coding != nil else { return }
        (coding, session, isWaiting) = (nil, nil, true)
        actions += proofs.values.map { .cancel($0) }
        proofs = [:]
        for (handle, handler) in running where handler.isAwaited {
            running[handle]?.isAwaited = false
            handler.registration.rest()
            actions.append(.announce(handler.registration.changes))
        }
    }

    /// The machine ends the connection.
    mutating func end(for ending: ClientEnding, in shell: WAMPShell, _ actions: inout [Action]) {
        var error = WAMPError(ending, hiding: shell.context.secrets)
        if case .unproven = ending { error = hopeless ?? error }
        if ending.isFinal { self.ending = self.ending ?? error ?? WAMPError(.closed) }
        if let error {
            (cause, isDropped) = (error, true)
            actions.append(.log(error))
        }
        (session, isWaiting) = (nil, true)
        actions.append(.announce(shell.context.changes))
    }

    mutating func end(_ closure: Closure?, in shell: WAMPShell, _ actions: inout [Action]) {
        let error = closure?.error.map { WAMPError($0, hiding: shell.context.secrets) }
        (isOver, ending) = (true, ending ?? error ?? WAMPError(.closed))
        for handle in pending.keys.sorted(by: { $0.number < $1.number }) { end(handle, nil, &actions) }
        for handler in running.values {
            actions.append(.cancel(handler.task))
            if let input = handler.input { actions.append(.finish(input, .success(()))) }
        }
        // A socket of the app's would live on, and with it a session that nobody listens to.
        actions += [.announce(shell.context.changes), .run { $0.stop() }]
    }

    static func perform(_ action: Action, in shell: WAMPShell) {
        switch action {
        case .call(let reply, let result): reply.end(result)
        case .publication(let reply, let result): reply.end(result)
        case .start(let reply, let result): reply.end(result)
        case .announce(let changes): changes.announce()
        case .release: break
        case .run(let body): body(shell)
        }
    }
}

extension WAMPShell {
    var changes: Changes { context.changes }
    /// What messages are written in at present; nil without a connection.
    var serialization: WAMPSerialization? { access { view in view.coding?.serialization } }
    var wampState: WAMPState { access { view in view.state } }

    /// Waits until the session has joined.
    func joined(within patience: Duration?) async throws(WAMPError) -> JoinedSession {
        let limit = patience.map { time.now() + $0.bounded }
        let session = try await changes.first(until: limit, on: time) { () throws(WAMPError) -> JoinedSession? in
            switch wampState {
            case .joined(let session): return session
            case .closed(let error): throw error ?? WAMPError(.closed)
            case .connecting, .waiting: return nil
            }
        }
        if let session { return session }
        if Task.isCancelled { throw WAMPError(.cancelled) }
        throw WAMPError(.timedOut(wasSent: false), of: nil, because: access { view in view.cause })
    }

    /// The app leaves; returns when all is over.
    func close() async {
        leave()
        await changes.first { isOver ? () : nil }
    }

    /// The app leaves; the router is told, if there is one.
    func leave() {
        command { view, _ in
            view.ending = view.ending ?? WAMPError(.closed)
            return (.leave(reason: WAMPURI.Close.closeRealm), ())
        }
    }
}
