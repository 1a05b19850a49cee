public import CodecCore
package import MachineCore
package import ProtocolCore

/// Why a server refuses a namespace: what its middleware said.
public struct SocketIORefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's text.
    public let message: String
    /// The server's data with it; null if there is none.
    public let data: Value

    /// Creates a refusal.
    public init(_ message: String, data: Value = .null) { (self.message, self.data) = (message, data) }

    /// Reads what the server sent: an object with `message` and `data`; in protocol 4 any value, of which an array may begin with the text.
    package init(json: [UInt8]) {
        let value = (try? Value(json: json)) ?? .null
        let unnamed = "the server refused the namespace"
        switch value {
        case .text(let text): self.init(text)
        case .array(let items): self.init(items.first?.string ?? unnamed, data: items.count > 1 ? items[1] : .null)
        default:
            let message = value["message"]?.string
            self.init(message ?? unnamed, data: value["data"] ?? (message == nil ? value : .null))
        }
    }

    /// The server's text.
    public var description: String { message }
}

/// One namespace of a connection: its state, its listeners, and the events that wait.
///
/// ``SocketIOMachine`` has one for each namespace that the app uses, and gives it what concerns it.
package struct SocketIONamespace: Hashable, Sendable {
    package typealias Effect = ProtocolEffect<SocketIOMachine>
    package typealias Event = SocketIOMachine.Event

    /// How far the namespace is.
    package enum State: Hashable, Sendable {
        /// There is no connection, or the namespace was not asked for on it yet.
        case absent
        /// The app has been asked for the payload.
        case asking
        /// The server has been asked.
        case connecting(due: Moment)
        /// The server has accepted. `isRecovered`: it knew the last session, so no event was missed.
        case connected(sid: String, isRecovered: Bool)
        /// The server has refused; the next attempt follows.
        case pausing(until: Moment, SocketIORefusal)
        /// The server, or the app, has left the namespace.
        case left(byServer: Bool)
        /// The server has refused for good.
        case refused(SocketIORefusal)

        fileprivate var isBeginning: Bool {
            switch self {
            case .absent, .asking, .connecting: true
            default: false
            }
        }
    }

    private struct Member: Hashable, Sendable {
        let id: RequestID
        /// Whether it gives a payload, which may be another for each attempt.
        let hasPayload: Bool
    }

    /// An event that waits to be sent or to be acknowledged.
    private struct Pending: Hashable, Sendable {
        var emit: SocketIOEmit
        /// Whether the app was told that it is written; it is sent again because the connection had not taken it.
        var isReported = false
        /// How often it was sent.
        var sendings = 0
    }

    private let name: String
    private let policy: SocketIOPolicy
    /// The app's references to this namespace; each gets its news.
    private var members: [Member] = []
    package private(set) var state = State.absent
    /// Changes with the state; the steps up to the session count as one.
    package private(set) var version: UInt64 = 0
    private var listeners: [String: RequestID] = [:]
    private var catchAll: RequestID?

    private var pending: PendingRequests<RequestID, Pending>
    /// How many bytes the pending events take.
    private var pendingBytes = 0
    /// The event that is sent again until it is acknowledged; one at a time keeps the order.
    private var inFlight: RequestID?
    private var retryAt: Moment?
    /// Those that follow it.
    private var held: [RequestID] = []

    /// The session for the recovery, as the server named it, and the offset of the last event.
    private var (pid, offset): (String?, String?) = (nil, nil)
    private var lostAt: Moment?
    private var refusals = 0
    /// Counts the sessions, because an answer belongs to one.
    private var session = 0
    /// The events of this session that the server wants an answer to.
    private var unanswered: Set<Int> = []

    init(_ name: String, _ policy: SocketIOPolicy) {
        (self.name, self.policy, pending) = (name, policy, PendingRequests(limit: .max))
    }

    package var isConnected: Bool { if case .connected = state { true } else { false } }
    /// Whether the namespace needs a connection.
    var isActive: Bool {
        switch state {
        case .left, .refused: false
        default: true
        }
    }

    /// - Parameter isOpen: Whether there is a connection, without which only the waits of events end.
    func deadline(isOpen: Bool) -> Moment? {
        guard isOpen else { return pending.deadline }
        var own: Moment?
        switch state {
        case .connecting(let due): own = due
        case .pausing(let until, _): own = until
        default: break
        }
        return .earliest(own, retryAt, pending.deadline)
    }

    // MARK: - Joining

    mutating func join(_ id: RequestID, hasPayload: Bool) { members.append(Member(id: id, hasPayload: hasPayload)) }

    /// Removes a reference; returns whether it was the last one.
    mutating func leave(_ id: RequestID, at now: Moment, into effects: inout [Effect]) -> Bool {
        members.removeAll { $0.id == id }
        // The one that is gone may have been asked.
        if state == .asking, !members.isEmpty { begin(at: now, into: &effects) }
        return members.isEmpty
    }

    /// Asks for the namespace on an open connection.
    mutating func begin(at now: Moment, into effects: inout [Effect]) {
        guard let asked = members.first(where: \.hasPayload) else { return connect(payload: nil, at: now, into: &effects) }
        change(.asking, into: &effects)
        notify(asked.id, .payloadNeeded, into: &effects)
    }

    /// Sends the request, with the payload and what is needed for the recovery.
    mutating func connect(payload: [UInt8]?, at now: Moment, into effects: inout [Effect]) {
        expect(at: now, into: &effects)
        effects.append(.send(.connect(name, payload: withRecovery(payload))))
    }

    /// Waits for the server's answer.
    mutating func expect(at now: Moment, into effects: inout [Effect]) {
        change(.connecting(due: now + policy.acknowledgement), into: &effects)
    }

    /// Whether the app gives a payload.
    var hasPayload: Bool { members.contains(where: \.hasPayload) }

    private func withRecovery(_ payload: [UInt8]?) -> [UInt8]? {
        guard let pid else { return payload }
        let fields = "{\"pid\":\(pid.inJSON)" + (offset.map { ",\"offset\":\($0.inJSON)" } ?? "")
        // The fields of the app's object follow.
        let rest = payload.flatMap { $0.first == UInt8(ascii: "{") ? $0.dropFirst() : nil } ?? [UInt8(ascii: "}")]
        return Array(fields.utf8) + (rest.first == UInt8(ascii: "}") ? [] : [UInt8(ascii: ",")]) + rest
    }

    /// Handles that the server has accepted.
    mutating func accept(
        sid: String, pid given: String?, _ handshake: EngineHandshake, at now: Moment, into effects: inout [Effect]
    ) {
        guard case .connecting = state else { return }
        let isRecovered = given != nil && given == pid
        if !isRecovered {
            offset = nil
            if let lostAt { tell(.gap(now - lostAt), into: &effects) }
        }
        (pid, lostAt, refusals, session, unanswered) = (given, nil, 0, session + 1, [])
        change(.connected(sid: sid, isRecovered: isRecovered), into: &effects)
        flush(handshake, at: now, into: &effects)
    }

    /// Handles that the server has refused, or that the app gave no payload.
    mutating func refuse(_ refusal: SocketIORefusal, pause: Duration, isFinal: Bool = false, at now: Moment, into effects: inout [Effect]) {
        switch state {
        case .asking, .connecting: break
        default: return
        }
        refusals += 1
        guard isFinal || !hasPayload || refusals >= policy.refusals else {
            return change(.pausing(until: now + pause, refusal), into: &effects)
        }
        change(.refused(refusal), into: &effects)
        failAll(.refused(refusal), into: &effects)
        for listener in Array(listeners.values) + [catchAll].compactMap({ $0 }) {
            notify(listener, .failed(.refused(refusal)), isLast: true, into: &effects)
        }
        (listeners, catchAll) = ([:], nil)
    }

    /// The number of refusals in a row.
    var refusalCount: Int { refusals }

    /// Handles the end of the session, by the server or the app.
    mutating func end(byServer: Bool, at now: Moment, into effects: inout [Effect]) {
        guard isActive else { return }
        (pid, offset) = (nil, nil)
        lostAt = lostAt ?? now
        change(.left(byServer: byServer), into: &effects)
        failAll(.disconnected, into: &effects)
    }

    /// Prepares another attempt after the end.
    mutating func revive(into effects: inout [Effect]) {
        guard !isActive else { return }
        refusals = 0
        change(.absent, into: &effects)
    }

    /// Waits longer for the server's answer, because nothing is read.
    mutating func postpone(at now: Moment) {
        if case .connecting = state { state = .connecting(due: now + policy.acknowledgement) }
    }

    /// Handles the loss of the connection.
    ///
    /// - Parameters:
    ///   - unsent: The events of which the connection took nothing.
    ///   - incomplete: The events of which it did not take every byte string.
    mutating func lose(unsent: [SocketIOEmit], incomplete: Set<RequestID>, at now: Moment, into effects: inout [Effect]) {
        if isConnected { lostAt = now }
        if isActive { change(.absent, into: &effects) }
        var kept: [(Pending, due: Moment?)] = []
        let untaken = incomplete.union(unsent.map(\.id)).union(held)
        var known: Set<RequestID> = []
        for one in pending.endAll() {
            known.insert(one.id)
            let isRetried = if case .retried = one.request.emit.kind { true } else { false }
            if isRetried || !one.isSentNow || untaken.contains(one.id) {
                kept.append((one.request, one.due))
            } else {
                notify(one.id, .failed(.lost), isLast: true, into: &effects)
            }
        }
        for emit in unsent where !known.contains(emit.id) && emit.kind == .plain && isActive {
            kept.append((Pending(emit: emit, isReported: true), nil))
        }
        (inFlight, retryAt, held, pendingBytes) = (nil, nil, [], 0)
        // The ids count up, so they give the order of the app.
        for (one, due) in kept.sorted(by: { $0.0.emit.id < $1.0.emit.id }) {
            _ = pending.add(one.emit.id, one, due: due)
            pendingBytes += one.emit.arguments.size
        }
    }

    // MARK: - Events of the app

    mutating func emit(_ emit: SocketIOEmit, due: Moment?, _ handshake: EngineHandshake?, at now: Moment, into effects: inout [Effect]) {
        switch state {
        case .refused(let refusal): return notify(emit.id, .failed(.refused(refusal)), isLast: true, into: &effects)
        case .left: return notify(emit.id, .failed(.disconnected), isLast: true, into: &effects)
        case .connected where emit.kind == .plain || emit.kind == .volatile:
            if let handshake { return transmit(Pending(emit: emit), handshake, at: now, into: &effects) }
        default: break
        }
        if emit.kind == .volatile { return notify(emit.id, .failed(.dropped), isLast: true, into: &effects) }
        guard pending.count < policy.emitLimit, pendingBytes + emit.arguments.size <= policy.emitBytes else {
            return notify(emit.id, .failed(.tooMany), isLast: true, into: &effects)
        }
        _ = pending.add(emit.id, Pending(emit: emit), due: due)
        pendingBytes += emit.arguments.size
        if isConnected, let handshake { flush(handshake, at: now, into: &effects) }
    }

    /// Ends an event that the app no longer waits for.
    mutating func cancel(_ id: RequestID, _ handshake: EngineHandshake?, at now: Moment, into effects: inout [Effect]) {
        if end(id) != nil { advance(after: id, handshake, at: now, into: &effects) }
    }

    private mutating func flush(_ handshake: EngineHandshake, at now: Moment, into effects: inout [Effect]) {
        while let next = pending.next() { transmit(next.request, handshake, at: now, into: &effects) }
    }

    private mutating func transmit(_ one: Pending, _ handshake: EngineHandshake, at now: Moment, into effects: inout [Effect]) {
        let (id, arguments) = (one.emit.id, one.emit.arguments)
        let longest = arguments.attachments.reduce(arguments.json.count + name.utf8.count + 24) { max($0, $1.count) }
        if let limit = handshake.maximumBytes, longest > limit {
            _ = end(id)
            return one.isReported ? () : notify(id, .failed(.tooLarge(limit)), isLast: true, into: &effects)
        }
        if case .retried(_, let wait) = one.emit.kind {
            guard inFlight == nil || inFlight == id else { return held.append(id) }
            (inFlight, retryAt) = (id, now + wait)
            pending.update(id) { $0.sendings += 1 }
        }
        let isAwaited = one.emit.kind != .plain && one.emit.kind != .volatile
        effects.append(.send(.event(one.emit, acknowledgement: isAwaited ? Int(id.number) : nil)))
        for bytes in arguments.attachments { effects.append(.send(.attachment(bytes, of: id))) }
        guard !isAwaited else { return }
        _ = end(id)
        if !one.isReported { notify(id, .written, isLast: true, into: &effects) }
    }

    /// Handles the server's acknowledgement.
    mutating func acknowledge(
        _ number: Int, _ arguments: SocketIOArguments, _ handshake: EngineHandshake, at now: Moment, into effects: inout [Effect]
    ) {
        guard number > 0 else { return }
        let id = RequestID(UInt64(number))
        // Without a match it is late, or nobody has asked for it.
        guard let one = pending[id], one.emit.kind != .plain, !held.contains(id), end(id) != nil else { return }
        notify(id, .acknowledged(arguments), isLast: true, into: &effects)
        advance(after: id, handshake, at: now, into: &effects)
    }

    private mutating func end(_ id: RequestID) -> Pending? {
        guard let ended = pending.end(id) else { return nil }
        pendingBytes -= ended.request.emit.arguments.size
        return ended.request
    }

    /// Sends the next event that is sent until it is acknowledged, if the one before has ended.
    private mutating func advance(after id: RequestID, _ handshake: EngineHandshake?, at now: Moment, into effects: inout [Effect]) {
        if inFlight != id {
            held.removeAll { $0 == id }
            return
        }
        (inFlight, retryAt) = (nil, nil)
        guard isConnected, let handshake else { return }
        while inFlight == nil, !held.isEmpty {
            let next = held.removeFirst()
            if let one = pending[next] { transmit(one, handshake, at: now, into: &effects) }
        }
    }

    mutating func wake(_ handshake: EngineHandshake?, at now: Moment, into effects: inout [Effect]) {
        while let one = pending.overdue(at: now) {
            pendingBytes -= one.request.emit.arguments.size
            let isHeld = held.contains(one.id)
            if !one.request.isReported {
                let mayHaveArrived = one.mayHaveArrived && !isHeld || one.request.sendings > 0
                notify(one.id, .failed(.timedOut(mayHaveArrived: mayHaveArrived)), isLast: true, into: &effects)
            }
            advance(after: one.id, handshake, at: now, into: &effects)
        }
        guard let handshake, let retryAt, now >= retryAt, let id = inFlight, let one = pending[id],
            case .retried(let most, _) = one.emit.kind
        else { return }
        if one.sendings <= most {
            transmit(one, handshake, at: now, into: &effects)
        } else if end(id) != nil {
            notify(id, .failed(.timedOut(mayHaveArrived: true)), isLast: true, into: &effects)
            advance(after: id, handshake, at: now, into: &effects)
        }
    }

    /// Ends all events that wait.
    mutating func failAll(_ failure: SocketIOMachine.Failure, into effects: inout [Effect]) {
        for one in pending.endAll() where !one.request.isReported {
            let isOut = one.mayHaveArrived && !held.contains(one.id) || one.request.sendings > 0
            notify(one.id, .failed(failure == .disconnected && isOut ? .lost : failure), isLast: true, into: &effects)
        }
        (inFlight, retryAt, held, pendingBytes) = (nil, nil, [], 0)
    }

    // MARK: - Events of the server

    mutating func listen(_ id: RequestID, to event: String?, into effects: inout [Effect]) {
        if case .refused(let refusal) = state { return notify(id, .failed(.refused(refusal)), isLast: true, into: &effects) }
        if let event { listeners[event] = id } else { catchAll = id }
    }

    mutating func unlisten(_ id: RequestID, to event: String?) {
        if let event {
            if listeners[event] == id { listeners[event] = nil }
        } else if catchAll == id {
            catchAll = nil
        }
    }

    /// Passes an event of the server to its listeners.
    mutating func receive(_ packet: SocketIOPacket, _ arguments: SocketIOArguments, into effects: inout [Effect]) {
        // Some servers send events before they confirm the namespace.
        switch state {
        case .connecting, .connected: break
        default: return
        }
        if pid != nil, let last = Self.lastText(arguments.json) { offset = last }
        let audience = [listeners[packet.name], catchAll].compactMap { $0 }
        guard !audience.isEmpty else { return }
        if let id = packet.id {
            // The server gives up its own wait. An app that never answers must not fill the memory.
            if unanswered.count >= policy.answerLimit { unanswered = [] }
            unanswered.insert(id)
        }
        let message = SocketIOMessage(name: packet.name, arguments: arguments, id: packet.id, session: session)
        for listener in audience { notify(listener, .message(message), into: &effects) }
    }

    mutating func answer(_ id: Int, of session: Int, _ arguments: SocketIOArguments, into effects: inout [Effect]) {
        guard isConnected, session == self.session, unanswered.remove(id) != nil else { return }
        effects.append(.send(.answer(name, id: id, arguments)))
        for bytes in arguments.attachments { effects.append(.send(.attachment(bytes, of: nil))) }
    }

    /// The last item of an array if it is a text: the offset of the event, if the server can recover sessions.
    private static func lastText(_ json: [UInt8]) -> String? {
        guard json.suffix(2).first == UInt8(ascii: "\""), json.last == UInt8(ascii: "]") else { return nil }
        guard let items = (try? Value(json: json))?.items, items.count > 1 else { return nil }
        return items.last?.string
    }

    // MARK: - News

    private mutating func change(_ state: State, into effects: inout [Effect]) {
        guard state != self.state else { return }
        if !(self.state.isBeginning && state.isBeginning) { version += 1 }
        self.state = state
        for member in members { notify(member.id, .changed, into: &effects) }
    }

    private func tell(_ content: Event.Content, into effects: inout [Effect]) {
        for listener in Array(listeners.values).sorted() + [catchAll].compactMap({ $0 }) { notify(listener, content, into: &effects) }
    }

    private func notify(_ id: RequestID, _ content: Event.Content, isLast: Bool = false, into effects: inout [Effect]) {
        effects.append(.event(Event(request: id, content: content, isLast: isLast)))
    }
}
