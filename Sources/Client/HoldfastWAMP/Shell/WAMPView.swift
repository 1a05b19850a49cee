import Holdfast
import Logging
import HoldfastProtocols
import ProtocolCore
import WAMPCore
import WAMPSigning

/// Runs a `ClientMachine`.
typealias WAMPShell = ProtocolShell<WAMPView>

/// Who gets the outcome of a request; exactly once.
typealias WAMPReply<Value: Sendable> = Reply<Value, WAMPError>

/// A request in words.
struct WAMPRequest: Sendable, CustomStringConvertible {
    let kind: String
    let uri: String

    var description: String { "\(kind) \(uri)" }
}

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
    /// A handler at work whose caller can still get its answer.
    struct Running {
        let task: Task<Void, Never>
        /// Nil: it came as a whole.
        let input: CallMailbox?
        let registration: RegistrationRecord

        /// Nobody wants its answer any more.
        func stop(_ actions: inout [Action]) {
            actions.append(.cancel(task))
            if let input { actions.append(.finish(input, .success(()))) }
        }
    }
    enum Action {
        case call(WAMPReply<WAMPArguments>, Result<WAMPArguments, WAMPError>)
        case publication(WAMPReply<WAMPID?>, Result<WAMPID?, WAMPError>)
        case announce(Changes)
        /// The last reference to it must not go while the lock is held.
        case release(Pending)
        /// What is rare.
        case run(@Sendable (WAMPShell) -> Void)

        static func end(_ reply: WAMPReply<Void>, _ end: Result<Void, WAMPError>) -> Action { .run { _ in reply.end(end) } }
        static func finish(_ mailbox: CallMailbox, _ end: Result<Void, WAMPError>) -> Action { .run { _ in mailbox.finish(end) } }
        static func cancel(_ task: Task<Void, Never>) -> Action { .run { _ in task.cancel() } }
        static func log(_ error: WAMPError) -> Action { .run { $0.context.log(error) } }
    }

    var coding: WAMPCoding?
    var standing = ClientStanding<WAMPError>()
    private var lastHandle: UInt64 = 0
    var pending: [ClientHandle: Pending] = [:]
    var running: [ClientHandle: Running] = [:]
    var proofs: [ClientHandle: Task<Void, Never>] = [:]
    /// Why no proof could be given on this connection.
    var obstacle: SigningError?

    /// A handle that was never used.
    mutating func newHandle() -> ClientHandle {
        lastHandle += 1
        return ClientHandle(lastHandle)
    }

    var state: WAMPState {
        switch standing.state {
        case .connecting: .connecting
        case .joined(let session): .joined(session)
        case .waiting(let cause): .waiting(cause)
        case .closed(let ending): .closed(ending.code == .closed ? nil : ending)
        }
    }

    // MARK: - The connection

    static func coding(for opening: Opening, in shell: WAMPShell) throws(ConnectionEnd) -> WAMPCoding {
        if let coding = WAMPCoding(opening, shell.context) { return coding }
        let error = WAMPError(.unsupported, detail: "the server agreed on no subprotocol of WAMP")
        shell.access { view in view.standing.end(because: error) }
        shell.changes.announce()
        throw .stop
    }

    mutating func open(_ coding: WAMPCoding, in shell: WAMPShell, _ actions: inout [Action]) {
        (self.coding, obstacle) = (coding, nil)
        standing.open()
        actions.append(.announce(shell.changes))
    }

    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: WAMPShell, _ actions: inout [Action]) {
        let wasOpen = standing.lose(because: cause.map { WAMPError($0, hiding: shell.context.secrets) }, isRetrying: isRetrying)
        if isRetrying || wasOpen { actions.append(.announce(shell.changes)) }
        guard wasOpen else { return }
        actions += proofs.values.map { .cancel($0) }
        for handler in running.values {
            handler.registration.rest()
            actions.append(.announce(handler.registration.changes))
            handler.stop(&actions)
        }
        (coding, proofs, running) = (nil, [:], [:])
    }

    /// The machine ends the connection.
    mutating func end(for ending: ClientEnding, in shell: WAMPShell, _ actions: inout [Action]) {
        let error = WAMPError(ending, obstacle, hiding: shell.context.secrets)
        standing.drop(because: error, ending: ending.isFinal ? error ?? WAMPError(.closed) : nil)
        if let error { actions.append(.log(error)) }
        actions.append(.announce(shell.changes))
    }

    mutating func end(_ closure: Closure?, in shell: WAMPShell, _ actions: inout [Action]) {
        standing.end(because: closure?.error.map { WAMPError($0, hiding: shell.context.secrets) } ?? WAMPError(.closed))
        for handle in pending.keys.sorted(by: { $0.number < $1.number }) { end(handle, .ended, &actions) }
        // A socket of the app's would live on, and with it a session that nobody listens to.
        actions += [.announce(shell.changes), .run { $0.stop() }]
    }

    static func perform(_ action: Action, in shell: WAMPShell) {
        switch action {
        case .call(let reply, let result): reply.end(result)
        case .publication(let reply, let result): reply.end(result)
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
        throw WAMPError(.timedOut(wasSent: false), of: nil, because: access { view in view.standing.cause })
    }

    /// The app leaves; returns when all is over.
    func close() async {
        leave()
        await changes.first { isOver ? () : nil }
    }

    /// The app leaves; the router is told, if there is one.
    func leave() {
        command { view, _ in
            view.standing.end(because: WAMPError(.closed))
            return (.leave(reason: WAMPURI.Close.closeRealm), ())
        }
    }
}
