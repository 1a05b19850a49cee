import Holdfast
import MachineCore
import ProtocolCore
import WebSocketCore
import WebSocketRuntime

/// Runs the rules of a ``ProtocolClient``.
typealias ClientShell<Rules: ProtocolMachine> = ProtocolShell<ClientView<Rules>> where Rules.Event: ProtocolEvent

/// The constant parts of a ``ProtocolClient``.
struct ClientContext<Rules: ProtocolMachine>: Sendable {
    let makeCoding: @Sendable (Opening) async throws(ConnectionEnd) -> ClientCoding<Rules>
    /// Announced when the state changes.
    let changes = Changes()
    /// Announced when a full consumer has taken something, so that reading may resume.
    let relief = Changes()

    init(_ makeCoding: @escaping @Sendable (Opening) async throws(ConnectionEnd) -> ClientCoding<Rules>) { self.makeCoding = makeCoding }
}

/// The app's coding with its type erased.
struct ClientCoding<Rules: ProtocolMachine>: ProtocolCoding {
    let greeting: Rules.Greeting
    private let decoding: @Sendable (Message) throws -> Rules.Received?
    private let encoding: @Sendable (Rules.Sent) throws -> Message
    private let ephemerality: @Sendable (Rules.Sent) -> Bool

    init<Coding: ProtocolCoding>(_ coding: Coding)
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent {
        (greeting, decoding, encoding, ephemerality) = (coding.greeting, coding.decode, coding.encode, coding.isEphemeral)
    }

    func decode(_ message: Message) throws -> Rules.Received? { try decoding(message) }
    func encode(_ message: Rules.Sent) throws -> Message { try encoding(message) }
    func isEphemeral(_ message: Rules.Sent) -> Bool { ephemerality(message) }
}

/// The app's view of its own protocol: the recipients of events, and the state.
struct ClientView<Rules: ProtocolMachine>: ProtocolView where Rules.Event: ProtocolEvent {
    typealias Coding = ClientCoding<Rules>
    typealias Context = ClientContext<Rules>
    typealias Mailbox = StreamMailbox<Rules.Event, Rules.Event>
    /// The recipient of a request's events.
    enum Recipient {
        case reply(Reply<Rules.Event, WebSocketError>)
        case stream(Mailbox)

        func end(_ error: WebSocketError?) {
            switch self {
            case .reply(let reply): reply.end(.failure(error ?? .over))
            case .stream(let mailbox): mailbox.finish(error.map { .failure($0) } ?? .success(()))
            }
        }
    }
    enum Action {
        case announce(Changes)
        case answer(Reply<Rules.Event, WebSocketError>, Rules.Event)
        case end(Recipient, WebSocketError?)
    }

    private var recipients: [RequestID: Recipient] = [:]
    /// The number of recipients that wait for a single answer.
    private var replies = 0
    private var followers: [ObjectIdentifier: Mailbox] = [:]
    /// The full mailboxes, for which reading is paused.
    private var full: [ObjectIdentifier: Mailbox] = [:]
    /// Why there is no connection.
    private(set) var cause: WebSocketError?
    private(set) var isReady = false
    /// The version of the state; it changes with each state.
    private(set) var version: UInt64 = 0
    private var isSocketOver = false
    private(set) var end: WebSocketError??

    var state: ProtocolState {
        if let end { return .closed(end) }
        if isReady { return .ready }
        return cause.map { .waiting($0) } ?? .connecting
    }

    static func coding(for opening: Opening, in shell: ClientShell<Rules>) async throws(ConnectionEnd) -> ClientCoding<Rules> {
        try await shell.context.makeCoding(opening)
    }

    static func mayReadOn(in shell: ClientShell<Rules>) -> Bool { shell.access { view in view.mayReadOn() } }
    /// Waits for the consumers, or for the socket to close, which must not wait for consumers that are full.
    static func pace(in shell: ClientShell<Rules>) async {
        let states = shell.socketStates
        // SAFETY: cancelled as soon as the wait is over.
        let watch = Task {
            if let states { for await state in states { if case .closed = state { break } } }
            guard !Task.isCancelled else { return }
            shell.access { view in view.isSocketOver = true }
            shell.context.relief.announce()
        }
        defer { watch.cancel() }
        await shell.context.relief.first { mayReadOn(in: shell) ? () : nil }
    }

    private mutating func mayReadOn() -> Bool {
        if full.isEmpty || end != nil || isSocketOver { return true }
        full = full.filter { $0.value.isHeld }
        // A consumer may wait for an answer before it takes more. So reading continues for pending requests, within limits.
        let isAwaited = replies > 0 && full.values.allSatisfy { $0.pending < OutgoingLimits.reader }
        return full.isEmpty || isAwaited
    }

    mutating func open(_ coding: Coding, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        guard cause != nil else { return }
        cause = nil
        noteChange(in: shell, &actions)
    }

    mutating func becomeReady(in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        guard !isReady else { return }
        isReady = true
        noteChange(in: shell, &actions)
    }

    mutating func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        // Each cause is reported twice, the second time with the plan of the next attempt.
        let isNew = isReady || cause != nil && (!isRetrying || self.cause == nil)
        (isReady, self.cause) = (false, cause ?? self.cause)
        if isNew { noteChange(in: shell, &actions) }
    }

    private mutating func noteChange(in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        version += 1
        actions.append(.announce(shell.context.changes))
    }

    mutating func handle(_ event: Rules.Event, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        guard let id = event.request else {
            for (key, mailbox) in followers where mailbox.push(event) { full[key] = mailbox }
            return
        }
        switch recipients[id] {
        // A caller that waits for a single answer does not get the events before it.
        case .reply(let reply)?: if event.isLast { actions.append(.answer(reply, event)) }
        case .stream(let mailbox)?:
            if mailbox.push(event) { full[ObjectIdentifier(mailbox)] = mailbox }
            if event.isLast { actions += [.end(.stream(mailbox), nil), .announce(shell.context.relief)] }
        case nil: break
        }
        if event.isLast { _ = remove(id) }
    }

    mutating func end(_ closure: Closure?, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        end = .some(closure?.error)
        isReady = false
        for recipient in recipients.values { actions.append(.end(recipient, closure?.error)) }
        for mailbox in followers.values { actions.append(.end(.stream(mailbox), closure?.error)) }
        (recipients, replies, followers, full) = ([:], 0, [:], [:])
        noteChange(in: shell, &actions)
        actions.append(.announce(shell.context.relief))
    }

    static func perform(_ action: Action, in shell: ClientShell<Rules>) {
        switch action {
        case .announce(let changes): changes.announce()
        case .answer(let reply, let event): reply.end(.success(event))
        case .end(let recipient, let error): recipient.end(error)
        }
    }

    // MARK: - Recipients

    /// Adds a recipient; returns an error if the client has ended.
    fileprivate mutating func add(_ recipient: Recipient, of id: RequestID) -> WebSocketError?? {
        if let end { return end }
        recipients[id] = recipient
        if case .reply = recipient { replies += 1 }
        return nil
    }

    fileprivate mutating func remove(_ id: RequestID) -> Recipient? {
        let recipient = recipients.removeValue(forKey: id)
        switch recipient {
        case .reply?: replies -= 1
        case .stream(let mailbox)?: full[ObjectIdentifier(mailbox)] = nil
        case nil: break
        }
        return recipient
    }

    fileprivate mutating func add(_ follower: Mailbox) -> WebSocketError?? {
        if let end { return end }
        followers[ObjectIdentifier(follower)] = follower
        return nil
    }

    fileprivate mutating func remove(_ follower: Mailbox) {
        followers[ObjectIdentifier(follower)] = nil
        full[ObjectIdentifier(follower)] = nil
    }
}

extension ProtocolShell {
    /// Starts a request; if the client has ended or the task is cancelled, gives the recipient an error and returns false.
    func begin<Rules>(_ recipient: ClientView<Rules>.Recipient, _ id: RequestID, _ command: Rules.Command) -> Bool
    where View == ClientView<Rules> {
        let failure = self.command { view, _ -> (Rules.Command?, WebSocketError??) in
            // Checked under the lock, so that a later cancellation finds the recipient.
            if case .reply = recipient, Task.isCancelled { return (nil, .some(.abandoned)) }
            let failure = view.add(recipient, of: id)
            return (failure == nil ? command : nil, failure)
        }
        if let failure { recipient.end(failure) }
        if case .reply = recipient { context.relief.announce() }
        return failure == nil
    }

    /// Removes the recipient of a request, and tells the rules of the cancellation.
    func cancel<Rules>(_ id: RequestID, with command: Rules.Command?) where View == ClientView<Rules> {
        let recipient = self.command { view, _ -> (Rules.Command?, ClientView<Rules>.Recipient?) in
            let recipient = view.remove(id)
            return (recipient == nil ? nil : command, recipient)
        }
        if case .reply(let reply)? = recipient { reply.end(.failure(.abandoned)) }
    }

    func follow<Rules>(_ mailbox: ClientView<Rules>.Mailbox) where View == ClientView<Rules> {
        if let end = access({ view in view.add(mailbox) }) { ClientView<Rules>.Recipient.stream(mailbox).end(end) }
    }

    func unfollow<Rules>(_ mailbox: ClientView<Rules>.Mailbox) where View == ClientView<Rules> { access { view in view.remove(mailbox) } }
}

extension WebSocketError {
    /// The error after this side has closed.
    static var over: WebSocketError { WebSocketError(TransportError(.closed, "the client is closed")) }
    /// The error for a cancelled wait.
    static var abandoned: WebSocketError { WebSocketError(TransportError(.cancelled, "the wait was cancelled")) }
}
