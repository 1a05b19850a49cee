import Holdfast
import Logging
import HoldfastProtocols
import ProtocolCore
import WAMPCore
import WAMPSigning

/// Runs a `ClientMachine`.
typealias WAMPShell = ProtocolShell<WAMPView>

/// The receiver of a request's result; it gets the result exactly once.
typealias WAMPReply<Value: Sendable> = Reply<Value, WAMPError>

/// A description of a request.
struct WAMPRequest: Sendable, CustomStringConvertible {
    let kind: String
    let uri: String

    var description: String { "\(kind) \(uri)" }
}

/// The values that stay the same for the whole life of a client.
struct WAMPContext: Sendable {
    let options: WAMPOptions
    let authentication: WAMPAuthentication
    let secrets: SessionSecrets
    let trace: WAMPTrace
    /// Announces changes of the session's state.
    let changes = Changes()

    init(_ options: WAMPOptions, _ authentication: WAMPAuthentication, _ secrets: SessionSecrets) {
        (self.options, self.authentication, self.secrets) = (options, authentication, secrets)
        trace = WAMPTrace(options, hiding: secrets)
        for secret in authentication.secrets { secrets.hide(secret) }
    }

    func log(_ error: WAMPError) { options.logger.warning("\(error)") }

    /// A decoding error often quotes the value itself.
    func log(undecodable error: WAMPError) { log(options.logsPayloads ? error : WAMPError(error.code, request: error.request)) }
}

/// The state that a ``WAMPClient`` keeps beside its machine: the pending requests, and the state of the session.
struct WAMPView: ProtocolView {
    typealias Rules = ClientMachine
    typealias Coding = WAMPCoding
    typealias Context = WAMPContext

    /// A pending request, a subscription or a registration.
    struct Pending {
        enum Purpose {
            case call(WAMPReply<WAMPArguments>)
            case progress(CallMailbox)
            case publication(WAMPReply<WAMPID?>)
            case listener(EventMailbox, TopicKey)
            /// Waits for the router's answer after a subscription was ended.
            case unsubscribing(WAMPReply<Void>)
            case procedure(RegistrationRecord, ProcedureHandler)
        }
        let request: WAMPRequest
        let purpose: Purpose
        /// Waits for the first activation of the subscription or registration.
        var reply: WAMPReply<Void>?
    }
    /// A running handler whose caller can still get its answer.
    struct Running {
        let task: Task<Void, Never>
        /// Nil if the input came in one part.
        let input: CallMailbox?
        let registration: RegistrationRecord

        /// Cancels the handler, because its answer is no longer wanted.
        func stop(_ actions: inout [Action]) {
            actions.append(.cancel(task))
            if let input { actions.append(.finish(input, .success(()))) }
        }
    }
    enum Action {
        case call(WAMPReply<WAMPArguments>, Result<WAMPArguments, WAMPError>)
        case publication(WAMPReply<WAMPID?>, Result<WAMPID?, WAMPError>)
        case announce(Changes)
        /// Releases it outside of the lock: the last reference must not be released while the lock is held.
        case release(Pending)
        /// Runs a closure, for rare actions.
        case run(@Sendable (WAMPShell) -> Void)

        static func end(_ reply: WAMPReply<Void>, _ end: Result<Void, WAMPError>) -> Action { .run { _ in reply.end(end) } }
        static func finish(_ mailbox: CallMailbox, _ end: Result<Void, WAMPError>) -> Action { .run { _ in mailbox.finish(end) } }
        static func cancel(_ task: Task<Void, Never>) -> Action { .run { _ in task.cancel() } }
        static func log(_ error: WAMPError) -> Action { .run { $0.context.log(error) } }
    }

    var coding: WAMPCoding?
    var standing = ClientStatus<WAMPError>()
    private var lastHandle: UInt64 = 0
    var pending: [ClientHandle: Pending] = [:]
    var running: [ClientHandle: Running] = [:]
    var proofs: [ClientHandle: Task<Void, Never>] = [:]
    /// The reason why no answer to a challenge could be given on this connection.
    var obstacle: SigningError?

    /// Returns a new handle.
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

    // MARK: - Connection

    static func coding(for opening: Opening, in shell: WAMPShell) throws(ConnectionEnd) -> WAMPCoding {
        if let coding = WAMPCoding(opening, shell.context) { return coding }
        let error = WAMPError(.unsupported, detail: "the server selected no WAMP subprotocol")
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

    /// Handles that the machine ends the connection.
    mutating func end(for ending: ClientEnding, in shell: WAMPShell, _ actions: inout [Action]) {
        let error = WAMPError(ending, obstacle, hiding: shell.context.secrets)
        standing.drop(because: error, ending: ending.isFinal ? error ?? WAMPError(.closed) : nil)
        if let error { actions.append(.log(error)) }
        actions.append(.announce(shell.changes))
    }

    mutating func end(_ closure: Closure?, in shell: WAMPShell, _ actions: inout [Action]) {
        standing.end(because: closure?.error.map { WAMPError($0, hiding: shell.context.secrets) } ?? WAMPError(.closed))
        for handle in pending.keys.sorted(by: { $0.number < $1.number }) { end(handle, .ended, &actions) }
        // A socket that the app provided would stay open, and with it a session that nobody uses.
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
    /// The serialization of the current connection; nil without a connection.
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

    /// Leaves the realm; returns when the client has ended.
    func close() async {
        leave()
        await changes.first { isOver ? () : nil }
    }

    /// Leaves the realm, and tells the router if there is a connection.
    func leave() {
        command { view, _ in
            view.standing.end(because: WAMPError(.closed))
            return (.leave(reason: WAMPURI.Close.closeRealm), ())
        }
    }
}
