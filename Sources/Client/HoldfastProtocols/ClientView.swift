public import Holdfast
import MachineCore
public import ProtocolCore
public import StreamCore
public import WebSocketCore
import WebSocketRuntime

/// Runs the rules of a ``ProtocolClient``.
@usableFromInline package typealias ClientShell<Rules: ProtocolMachine> = ProtocolShell<ClientView<Rules>> where Rules.Event: ProtocolEvent

/// The constant parts of a ``ProtocolClient``.
@usableFromInline package struct ClientContext<Rules: ProtocolMachine>: Sendable {
    @usableFromInline let makeCoding: @Sendable (Opening) async throws(ConnectionEnd) -> ClientCoding<Rules>
    /// Announced when the state changes.
    @usableFromInline let changes = Changes()
    /// Announced when a full consumer has taken something, so that reading may resume.
    @usableFromInline let relief = Changes()

    @usableFromInline init(_ makeCoding: @escaping @Sendable (Opening) async throws(ConnectionEnd) -> ClientCoding<Rules>) {
        self.makeCoding = makeCoding
    }
}

/// The app's coding with its type erased.
@usableFromInline package struct ClientCoding<Rules: ProtocolMachine>: ProtocolCoding {
    @usableFromInline package let greeting: Rules.Greeting
    @usableFromInline let decoding: @Sendable (Message) throws -> Rules.Received?
    @usableFromInline let encoding: @Sendable (Rules.Sent) throws -> Message
    @usableFromInline let ephemerality: @Sendable (Rules.Sent) -> Bool

    @inlinable init<Coding: ProtocolCoding>(_ coding: Coding)
    where Coding.Greeting == Rules.Greeting, Coding.Received == Rules.Received, Coding.Sent == Rules.Sent {
        (greeting, decoding, encoding, ephemerality) = (coding.greeting, coding.decode, coding.encode, coding.isEphemeral)
    }

    @inlinable package func decode(_ message: Message) throws -> Rules.Received? { try decoding(message) }
    @inlinable package func encode(_ message: Rules.Sent) throws -> Message { try encoding(message) }
    @inlinable package func isEphemeral(_ message: Rules.Sent) -> Bool { ephemerality(message) }
}

/// A mailbox as the client sees it: a consumer of events.
@usableFromInline package protocol EventSink<Event>: AnyObject, Sendable {
    associatedtype Event
    var pending: Int { get }
    var isHeld: Bool { get }
    func put(_ event: Event) -> (isHeld: Bool, mustCall: Bool)
    func call()
    func finish(_ end: Result<Void, WebSocketError>)
}

extension Mailbox: EventSink where Failure == WebSocketError {
    @usableFromInline package typealias Event = Buffer.Value
}

/// The mailbox of a consumer that gets every event.
@usableFromInline package typealias EveryMailbox<Event: Sendable> = Mailbox<EveryValue<Event>, WebSocketError>

/// The consumer of events, as the reader sees it.
///
/// The usual mailbox has a case of its own, because the compiler cannot specialize what is behind `any EventSink`. That cost more for each
/// event than all else that this module does for it.
@usableFromInline package enum EventInbox<Event: Sendable>: Sendable {
    case every(EveryMailbox<Event>)
    case other(any EventSink<Event>)

    @inlinable var id: ObjectIdentifier {
        switch self {
        case .every(let mailbox): ObjectIdentifier(mailbox)
        case .other(let mailbox): ObjectIdentifier(mailbox)
        }
    }
    @inlinable var pending: Int {
        switch self {
        case .every(let mailbox): mailbox.pending
        case .other(let mailbox): mailbox.pending
        }
    }
    @inlinable var isHeld: Bool {
        switch self {
        case .every(let mailbox): mailbox.isHeld
        case .other(let mailbox): mailbox.isHeld
        }
    }

    @inlinable func put(_ event: Event) -> (isHeld: Bool, mustCall: Bool) {
        switch self {
        case .every(let mailbox): mailbox.put(event)
        case .other(let mailbox): mailbox.put(event)
        }
    }

    @inlinable func call() {
        switch self {
        case .every(let mailbox): mailbox.call()
        case .other(let mailbox): mailbox.call()
        }
    }

    @inlinable func finish(_ end: Result<Void, WebSocketError>) {
        switch self {
        case .every(let mailbox): mailbox.finish(end)
        case .other(let mailbox): mailbox.finish(end)
        }
    }
}

/// The app's view of its own protocol: the recipients of events, and the state.
///
/// What runs for every event is inlinable, so that it is specialized for the rules, as in ``ProtocolShell``.
@usableFromInline package struct ClientView<Rules: ProtocolMachine>: ProtocolView where Rules.Event: ProtocolEvent {
    @usableFromInline package typealias Coding = ClientCoding<Rules>
    @usableFromInline package typealias Context = ClientContext<Rules>
    @usableFromInline package typealias Inbox = EventInbox<Rules.Event>
    /// The recipient of a request's events.
    @usableFromInline package enum Recipient: Sendable {
        case reply(Reply<Rules.Event, WebSocketError>)
        /// One consumer, or several that share the request.
        case streams([Inbox])

        @usableFromInline func end(_ error: WebSocketError?) {
            switch self {
            case .reply(let reply): reply.end(.failure(error ?? .over))
            case .streams(let inboxes): for inbox in inboxes { inbox.finish(error.map { .failure($0) } ?? .success(())) }
            }
        }
    }
    @usableFromInline package enum Action: Sendable {
        case announce(Changes)
        case answer(Reply<Rules.Event, WebSocketError>, Rules.Event)
        case call(Inbox)
        case end(Recipient, WebSocketError?)
    }

    @usableFromInline var recipients: [RequestID: Recipient] = [:]
    /// The number of recipients that wait for a single answer.
    @usableFromInline var replies = 0
    /// The requests that consumers share, by their keys.
    @usableFromInline var shared: [String: RequestID] = [:]
    @usableFromInline var followers: [ObjectIdentifier: Inbox] = [:]
    /// The full mailboxes, for which reading is paused.
    @usableFromInline var full: [ObjectIdentifier: Inbox] = [:]
    /// The consumers to wake when the events that arrived together are handled.
    @usableFromInline var called: [Inbox] = []
    /// Why there is no connection.
    @usableFromInline var cause: WebSocketError?
    @usableFromInline var isReady = false
    /// The version of the state; it changes with each state.
    @usableFromInline var version: UInt64 = 0
    @usableFromInline var isSocketOver = false
    @usableFromInline var end: WebSocketError??

    @usableFromInline init() {}

    var state: ProtocolState {
        if let end { return .closed(end) }
        if isReady { return .ready }
        return cause.map { .waiting($0) } ?? .connecting
    }

    @usableFromInline package static func coding(for opening: Opening, in shell: ClientShell<Rules>) async throws(ConnectionEnd)
        -> ClientCoding<Rules>
    {
        try await shell.context.makeCoding(opening)
    }

    @inlinable package static func mayReadOn(in shell: ClientShell<Rules>) -> Bool { shell.access { view in view.mayReadOn() } }
    /// Waits for the consumers, or for the socket to close, which must not wait for consumers that are full.
    @usableFromInline package static func pace(in shell: ClientShell<Rules>) async {
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

    @inlinable mutating func mayReadOn() -> Bool {
        if full.isEmpty || end != nil || isSocketOver { return true }
        full = full.filter { $0.value.isHeld }
        // A consumer may wait for an answer before it takes more. So reading continues for pending requests, within limits.
        let isAwaited = replies > 0 && full.values.allSatisfy { $0.pending < OutgoingLimits.reader }
        return full.isEmpty || isAwaited
    }

    @usableFromInline package mutating func open(_ coding: Coding, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        guard cause != nil else { return }
        cause = nil
        noteChange(in: shell, &actions)
    }

    @usableFromInline package mutating func becomeReady(in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        guard !isReady else { return }
        isReady = true
        noteChange(in: shell, &actions)
    }

    @usableFromInline package mutating func lose(
        because cause: WebSocketError?, isRetrying: Bool, in shell: ClientShell<Rules>, _ actions: inout [Action]
    ) {
        // Each cause is reported twice, the second time with the plan of the next attempt.
        let isNew = isReady || cause != nil && (!isRetrying || self.cause == nil)
        (isReady, self.cause) = (false, cause ?? self.cause)
        if isNew { noteChange(in: shell, &actions) }
    }

    private mutating func noteChange(in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        version += 1
        actions.append(.announce(shell.context.changes))
    }

    @inlinable package mutating func handle(_ event: Rules.Event, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        guard let id = event.request else {
            for inbox in followers.values { give(event, to: inbox) }
            return
        }
        switch recipients[id] {
        // A caller that waits for a single answer does not get the events before it.
        case .reply(let reply)?: if event.isLast { actions.append(.answer(reply, event)) }
        case .streams(let inboxes)?:
            for inbox in inboxes { give(event, to: inbox) }
            if event.isLast { actions += [.end(.streams(inboxes), nil), .announce(shell.context.relief)] }
        case nil: break
        }
        if event.isLast { _ = remove(id) }
    }

    @inlinable mutating func give(_ event: Rules.Event, to inbox: Inbox) {
        let (isHeld, mustCall) = inbox.put(event)
        if isHeld { full[inbox.id] = inbox }
        if mustCall { called.append(inbox) }
    }

    @inlinable package mutating func settle(_ actions: inout [Action]) {
        guard !called.isEmpty else { return }
        for inbox in called { actions.append(.call(inbox)) }
        called.removeAll(keepingCapacity: true)
    }

    @usableFromInline package mutating func end(_ closure: Closure?, in shell: ClientShell<Rules>, _ actions: inout [Action]) {
        end = .some(closure?.error)
        isReady = false
        for recipient in recipients.values { actions.append(.end(recipient, closure?.error)) }
        actions.append(.end(.streams(Array(followers.values)), closure?.error))
        (recipients, replies, shared, followers, full) = ([:], 0, [:], [:], [:])
        noteChange(in: shell, &actions)
        actions.append(.announce(shell.context.relief))
    }

    @inlinable package static func perform(_ action: Action, in shell: ClientShell<Rules>) {
        switch action {
        case .announce(let changes): changes.announce()
        case .answer(let reply, let event): reply.end(.success(event))
        case .call(let inbox): inbox.call()
        case .end(let recipient, let error): recipient.end(error)
        }
    }

    // MARK: - Recipients

    /// Adds a recipient; returns an error if the client has ended.
    @inlinable mutating func add(_ recipient: Recipient, of id: RequestID) -> WebSocketError?? {
        if let end { return end }
        recipients[id] = recipient
        if case .reply = recipient { replies += 1 }
        return nil
    }

    @inlinable mutating func remove(_ id: RequestID) -> Recipient? {
        let recipient = recipients.removeValue(forKey: id)
        switch recipient {
        case .reply?: replies -= 1
        case .streams(let inboxes)?:
            for inbox in inboxes { full[inbox.id] = nil }
            if let key = shared.first(where: { $0.value == id })?.key { shared[key] = nil }
        case nil: break
        }
        return recipient
    }

    /// Adds a consumer to a shared request; returns the request, or nil if there is none with this key.
    fileprivate mutating func join(_ inbox: Inbox, _ key: String, orAdd id: RequestID) -> RequestID? {
        guard let present = shared[key], case .streams(let inboxes)? = recipients[present] else {
            shared[key] = id
            return nil
        }
        recipients[present] = .streams(inboxes + [inbox])
        return present
    }

    /// Removes a consumer; returns whether it was the last one of its request.
    fileprivate mutating func leave(_ inbox: Inbox, _ id: RequestID) -> Bool {
        full[inbox.id] = nil
        guard case .streams(let inboxes)? = recipients[id] else { return false }
        let others = inboxes.filter { $0.id != inbox.id }
        if others.isEmpty { return remove(id) != nil }
        recipients[id] = .streams(others)
        return false
    }

    fileprivate mutating func add(_ follower: Inbox) -> WebSocketError?? {
        if let end { return end }
        followers[follower.id] = follower
        return nil
    }

    fileprivate mutating func remove(_ follower: Inbox) {
        followers[follower.id] = nil
        full[follower.id] = nil
    }
}

extension ProtocolShell {
    /// Starts a request; if the client has ended or the task is cancelled, gives the recipient an error and returns false.
    @inlinable func begin<Rules>(_ recipient: ClientView<Rules>.Recipient, _ id: RequestID, _ command: Rules.Command) -> Bool
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
    @inlinable func cancel<Rules>(_ id: RequestID, with command: Rules.Command?) where View == ClientView<Rules> {
        let recipient = self.command { view, _ -> (Rules.Command?, ClientView<Rules>.Recipient?) in
            let recipient = view.remove(id)
            return (recipient == nil ? nil : command, recipient)
        }
        if case .reply(let reply)? = recipient { reply.end(.failure(.abandoned)) }
    }

    /// Starts a request for a consumer, or lets the consumer share one with the same key; returns the request.
    ///
    /// `command` is called only for a new request, and under the lock.
    @usableFromInline func begin<Rules>(
        _ inbox: ClientView<Rules>.Inbox, sharing key: String?, _ id: RequestID, _ command: (RequestID) -> Rules.Command
    ) -> RequestID where View == ClientView<Rules> {
        let (used, failure) = self.command { view, _ -> (Rules.Command?, (RequestID, WebSocketError??)) in
            if let key, view.end == nil, let present = view.join(inbox, key, orAdd: id) { return (nil, (present, nil)) }
            let failure = view.add(.streams([inbox]), of: id)
            return (failure == nil ? command(id) : nil, (id, failure))
        }
        if let failure { ClientView<Rules>.Recipient.streams([inbox]).end(failure) }
        return used
    }

    /// Removes a consumer from a request, and tells the rules if it was the last one.
    @usableFromInline func leave<Rules>(_ inbox: ClientView<Rules>.Inbox, _ id: RequestID, with command: (RequestID) -> Rules.Command)
    where View == ClientView<Rules> {
        self.command { view, _ in (view.leave(inbox, id) ? command(id) : nil, ()) }
    }

    @usableFromInline func follow<Rules>(_ inbox: ClientView<Rules>.Inbox) where View == ClientView<Rules> {
        if let end = access({ view in view.add(inbox) }) { ClientView<Rules>.Recipient.streams([inbox]).end(end) }
    }

    @usableFromInline func unfollow<Rules>(_ inbox: ClientView<Rules>.Inbox) where View == ClientView<Rules> {
        access { view in view.remove(inbox) }
    }
}

extension WebSocketError {
    /// The error after this side has closed.
    static var over: WebSocketError { WebSocketError(TransportError(.closed, "the client is closed")) }
    /// The error for a cancelled wait.
    @usableFromInline static var abandoned: WebSocketError { WebSocketError(TransportError(.cancelled, "the wait was cancelled")) }
}
