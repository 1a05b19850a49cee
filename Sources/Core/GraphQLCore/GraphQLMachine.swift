package import MachineCore
package import ProtocolCore
package import WebSocketCore

/// The delays and limits of a GraphQL client.
package struct GraphQLPolicy: Hashable, Sendable {
    /// How long the server may take to acknowledge a connection.
    package var acknowledgement = Duration.seconds(10)
    /// The silence after which the client sends a ping; nil for never.
    package var pingInterval: Duration? = .seconds(25)
    /// How long the server may be silent after a ping.
    package var pong = Duration.seconds(10)
    /// How long the connection stays open without an operation; nil: for ever.
    package var idle: Duration?
    /// Whether the first operation opens the connection.
    package var isLazy = false
    /// How many times in a row the server may refuse the connection; the last time is final.
    package var refusals = 3
    /// The maximum number of operations at once.
    package var operationLimit = 10_000
    /// The maximum size in bytes of the data of one operation whose parts come one after the other.
    package var incrementalBytes = 16 << 20

    package init() {}
}

/// An operation that the app has begun.
package struct PendingOperation: Hashable, Sendable {
    /// What the operation does, which decides whether it may be sent twice.
    package enum Kind: Hashable, Sendable {
        /// It gives one result, and may be sent again.
        case query
        /// It gives one result, and is never sent twice.
        case mutation
        /// It gives results until it ends, and is sent again on each connection.
        case subscription
    }
    package let kind: Kind
    /// The payload of its message, as JSON.
    package var payload: [UInt8]
    /// Whether the server has shown that it takes the operation.
    var isConfirmed = false
    /// When its connection was lost; nil while its results come.
    var lostAt: Moment?
    var incremental: IncrementalData?

    package init(_ kind: Kind, payload: [UInt8]) { (self.kind, self.payload) = (kind, payload) }
}

/// The client side of GraphQL over WebSocket, in both protocols.
///
/// Subscriptions and queries are sent again on each connection, mutations are not. A server that closes with 4400 says only that one of
/// the messages was wrong (Strawberry does so for a syntax error). So that one bad operation does not end all others for ever, the client
/// then sends those that the server has not answered one by one, each followed by a ping, and fails the one that is answered with a close.
package struct GraphQLMachine: ProtocolMachine, Hashable {
    package typealias Greeting = GraphQLGreeting
    package typealias Received = GraphQLReply
    package typealias Sent = GraphQLRequest

    package enum Command: Hashable, Sendable {
        /// Begins an operation.
        ///
        /// - Parameter patience: How long it may wait for its result; nil: for ever.
        case begin(RequestID, PendingOperation, patience: Duration?)
        /// Ends an operation that the app no longer wants.
        case cancel(RequestID)
    }
    package struct Event: ProtocolEvent, Hashable {
        package enum Content: Hashable, Sendable {
            /// A result.
            case next(GraphQLResult)
            /// Events may be missing here: the connection was lost for this long.
            case gap(Duration)
            case failed(Failure)
            case completed
        }
        package let request: RequestID?
        package let content: Content
        package let isLast: Bool

        package init(request: RequestID?, content: Content, isLast: Bool) {
            (self.request, self.content, self.isLast) = (request, content, isLast)
        }
    }
    /// Why an operation failed.
    package enum Failure: Error, Hashable, Sendable {
        /// The server does not accept it, or ended it with these errors.
        case errors([GraphQLError])
        /// The server closed the connection because of it.
        case rejected(CloseFrame)
        /// The server refuses the connection; with the reason.
        case refused(String)
        /// There was no answer in time.
        case timedOut(mayHaveArrived: Bool)
        /// The connection was lost after a mutation was sent. Whether the server has carried it out is unknown.
        case lost
        /// Too many operations run.
        case tooMany
        /// The parts of its data do not fit together, or are too large.
        case misfit
    }
    private enum Phase: Hashable {
        case away
        /// Waits for the acknowledgement.
        case opening(due: Moment)
        case ready
    }
    private struct Ping: Hashable {
        let sentAt: Moment
        /// The operations that were sent before it, and not answered.
        let covered: Set<RequestID>
    }

    private let policy: GraphQLPolicy
    private var phase = Phase.away
    private var operations: PendingRequests<RequestID, PendingOperation>
    private var isPaused = false

    /// Nil if the server knows no pings, or the app wants none.
    private var heartbeat: MessageHeartbeat?
    /// The pings without a pong, in order.
    private var pings: [Ping] = []
    /// What the server sent with its acknowledgement of this connection, as JSON.
    package private(set) var acknowledgement: [UInt8]?
    /// The latest time from a ping to its pong.
    package private(set) var roundTrip: Duration?

    private var hasPings = true
    /// The operations that were sent on this connection, and of which the server has shown nothing yet.
    private var unconfirmed: Set<RequestID> = []
    /// Whether unconfirmed operations are sent one by one.
    private var isProbing = false
    /// When the next operation is sent although the server has not answered the ping after the last one.
    private var probeEnd: Moment?

    /// Why the server refused this client for good.
    package private(set) var refusal: String?
    /// How often the server has refused the connection since it last accepted one.
    private var refusals = 0
    /// Whether there is no connection because no operation needs one.
    private var isDormant: Bool
    private var idleSince: Moment?

    package init(_ policy: GraphQLPolicy = GraphQLPolicy()) {
        (self.policy, operations, isDormant) = (policy, PendingRequests(limit: policy.operationLimit), policy.isLazy)
    }

    // MARK: - Inputs

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .opened(let greeting): open(greeting, at: now, into: &effects)
        case .lost(let unsent, let close): lose(unsent: unsent, close, at: now, into: &effects)
        case .received(let reply):
            guard phase != .away else { break }  // The client has ended the connection.
            heartbeat?.heard(at: now)
            receive(reply, at: now, into: &effects)
        case .undecodable(let reason): if phase != .away { reject("an invalid message: \(reason)", into: &effects) }
        case .paused: isPaused = true
        case .resumed:
            isPaused = false
            guard phase != .away else { break }
            heartbeat?.heard(at: now)
            if case .opening = phase { phase = .opening(due: now + policy.acknowledgement) }
            if probeEnd != nil { probeEnd = now + policy.pong }
        case .command(.begin(let id, let operation, let patience)): begin(id, operation, within: patience, at: now, into: &effects)
        case .command(.cancel(let id)): end(id, nil, at: now, into: &effects)
        }
    }

    package var deadline: Moment? {
        var answers: Moment?
        if !isPaused {
            answers = .earliest(heartbeat?.deadline, probeEnd)
            if case .opening(let due) = phase { answers = .earliest(answers, due) }
        }
        return .earliest(answers, operations.deadline, idleEnd)
    }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        while let operation = operations.overdue(at: now) {
            finish(operation, .failed(.timedOut(mayHaveArrived: operation.mayHaveArrived)), isOver: false, at: now, into: &effects)
        }
        if let idleEnd, now >= idleEnd {
            isDormant = true
            leave(.disconnect, into: &effects)
        }
        guard !isPaused else { return }
        if case .opening(let due) = phase, now >= due {
            leave(.reject(.acknowledgementTimeout, reason: "the server did not acknowledge the connection in time"), into: &effects)
        }
        switch heartbeat?.wake(at: now) {
        case .ping?: ping(at: now, into: &effects)
        case .dead?: leave(.cut(reason: "the server answered no ping"), into: &effects)
        case nil: break
        }
        if let probeEnd, now >= probeEnd { confirm(unconfirmed, at: now, into: &effects) }
    }

    private var idleEnd: Moment? {
        guard let idleSince, let idle = policy.idle else { return nil }
        return idleSince + idle
    }

    // MARK: - The connection

    private mutating func open(_ greeting: GraphQLGreeting, at now: Moment, into effects: inout [Effect]) {
        (phase, isPaused, isDormant, hasPings) = (.opening(due: now + policy.acknowledgement), false, false, greeting.hasPings)
        heartbeat = hasPings ? policy.pingInterval.map { MessageHeartbeat(pingAfter: $0, patience: policy.pong) } : nil
        heartbeat?.heard(at: now)
        for (id, payload) in greeting.renewed { operations.update(id) { $0.payload = payload } }
        effects.append(.send(.initialize(payload: greeting.payload)))
    }

    private mutating func acknowledge(at now: Moment, into effects: inout [Effect]) {
        guard case .opening = phase else { return }
        (phase, refusals) = (.ready, 0)
        effects.append(.ready)
        if operations.count == 0 { idleSince = now }
        sendOperations(at: now, into: &effects)
    }

    private mutating func lose(unsent: [Sent], _ close: CloseFrame?, at now: Moment, into effects: inout [Effect]) {
        let unsent = unsent.compactMap { if case .subscribe(let id, _) = $0 { id } else { nil } }
        let wasOpening = if case .opening = phase { true } else { false }
        let suspects = unconfirmed.subtracting(unsent)
        (phase, isPaused, unconfirmed, pings, probeEnd, idleSince) = (.away, false, [], [], nil, nil)
        heartbeat?.stop()
        // The server closed because of one of the suspects.
        if close?.code == .badRequest {
            if suspects.count == 1, let close {
                for id in suspects { end(id, .failed(.rejected(close)), at: now, into: &effects) }
            } else {
                isProbing = suspects.count > 1 && hasPings
            }
        }
        operations.lose(unsent: unsent)
        for operation in operations.all where operation.mayHaveArrived {
            switch operation.request.kind {
            case .mutation: end(operation.id, .failed(.lost), at: now, into: &effects)
            case .subscription: operations.update(operation.id) { ($0.lostAt, $0.incremental) = ($0.lostAt ?? now, nil) }
            case .query: operations.update(operation.id) { $0.incremental = nil }
            }
        }
        // Ariadne closes with 1000 and no reason when it refuses a client.
        if wasOpening, let close, [.unauthorized, .forbidden, .normal, .policyViolation].contains(close.code) {
            refuse(close.reason.isEmpty ? "the server closed the connection with \(close)" : close.reason, at: now, into: &effects)
        }
    }

    /// Counts a refusal; the last one ends the client.
    private mutating func refuse(_ reason: String, at now: Moment, into effects: inout [Effect]) {
        refusals += 1
        guard refusals >= policy.refusals else { return }
        refusal = reason
        for operation in operations.endAll() { notify(operation.id, .failed(.refused(reason)), isLast: true, into: &effects) }
        leave(.stop, into: &effects)
    }

    private mutating func reject(_ reason: String, into effects: inout [Effect]) {
        leave(.reject(.badRequest, reason: reason), into: &effects)
    }

    /// Ends the connection; later messages from it do not count.
    private mutating func leave(_ end: ConnectionEnd, into effects: inout [Effect]) {
        (phase, idleSince, probeEnd) = (.away, nil, nil)
        heartbeat?.stop()
        effects.append(.end(end))
    }

    private mutating func ping(at now: Moment, into effects: inout [Effect]) {
        pings.append(Ping(sentAt: now, covered: unconfirmed))
        effects.append(.send(.ping))
    }

    // MARK: - Replies

    private mutating func receive(_ reply: GraphQLReply, at now: Moment, into effects: inout [Effect]) {
        switch reply {
        case .acknowledged(let payload):
            acknowledgement = payload
            acknowledge(at: now, into: &effects)
        case .refused(let errors):
            guard case .opening = phase else { return }
            let reason = errors.first?.message ?? "the server refused the connection"
            refuse(reason, at: now, into: &effects)
            if refusals < policy.refusals { leave(.reject(.normal, reason: reason), into: &effects) }
        case .ping(let payload): effects.append(.send(.pong(payload: payload)))
        case .pong:
            guard !pings.isEmpty else { return }
            let ping = pings.removeFirst()
            roundTrip = now - ping.sentAt
            confirm(ping.covered, at: now, into: &effects)
        case .keepAlive: break
        case .next(let id, let result):
            guard isAcknowledged(into: &effects) else { return }
            guard let operation = operations[id] else { return }  // The app has ended it, and the server did not know yet.
            if !operation.isConfirmed { confirm([id], at: now, into: &effects) }
            take(result, of: id, operation, at: now, into: &effects)
        case .failed(let id, let errors):
            guard isAcknowledged(into: &effects), let operation = operations.end(id) else { return }
            finish(operation, .failed(.errors(errors)), isOver: true, at: now, into: &effects)
        case .completed(let id):
            guard isAcknowledged(into: &effects), let operation = operations.end(id) else { return }
            finish(operation, .completed, isOver: true, at: now, into: &effects)
        }
    }

    /// Returns whether results may come; ends the connection if not.
    private mutating func isAcknowledged(into effects: inout [Effect]) -> Bool {
        if phase == .ready { return true }
        reject("the server sent a result before it acknowledged the connection", into: &effects)
        return false
    }

    private mutating func take(
        _ result: GraphQLResult, of id: RequestID, _ operation: PendingOperation, at now: Moment, into effects: inout [Effect]
    ) {
        var result = result
        if result.hasNext != nil || operation.incremental != nil {
            do {
                var data = try operation.incremental ?? IncrementalData(result)
                if operation.incremental != nil { try data.add(result) }
                let json = try data.json()
                guard json.count <= policy.incrementalBytes else { throw IncrementalData.Misfit() }
                result.data = json
                operations.update(id) { $0.incremental = result.hasNext == true ? data : nil }
            } catch {
                return end(id, .failed(.misfit), at: now, into: &effects)
            }
        }
        if operation.kind == .subscription || result.hasNext == true {
            notify(id, .next(result), isLast: false, into: &effects)
        } else if let operation = operations.end(id) {
            // The server completes it by itself.
            finish(operation, .next(result), isOver: true, at: now, into: &effects)
        }
    }

    // MARK: - Operations

    private mutating func begin(
        _ id: RequestID, _ operation: PendingOperation, within patience: Duration?, at now: Moment, into effects: inout [Effect]
    ) {
        guard operations.add(id, operation, due: patience.map { now + $0 }) else {
            return notify(id, .failed(.tooMany), isLast: true, into: &effects)
        }
        idleSince = nil
        if isDormant {
            isDormant = false
            effects.append(.connect)
        }
        sendOperations(at: now, into: &effects)
    }

    /// Sends the operations that wait, in order.
    private mutating func sendOperations(at now: Moment, into effects: inout [Effect]) {
        guard phase == .ready else { return }
        while !isProbing || unconfirmed.isEmpty {
            guard let operation = operations.next() else {
                isProbing = false
                break
            }
            effects.append(.send(.subscribe(operation.id, payload: operation.request.payload)))
            if let lostAt = operation.request.lostAt {
                operations.update(operation.id) { $0.lostAt = nil }
                notify(operation.id, .gap(now - lostAt), isLast: false, into: &effects)
            }
            guard !operation.request.isConfirmed else { continue }
            unconfirmed.insert(operation.id)
            guard isProbing else { continue }
            probeEnd = now + policy.pong
            ping(at: now, into: &effects)
        }
    }

    /// Notes that the server takes these operations.
    private mutating func confirm(_ ids: Set<RequestID>, at now: Moment, into effects: inout [Effect]) {
        for id in ids { operations.update(id) { $0.isConfirmed = true } }
        unconfirmed.subtract(ids)
        guard isProbing, unconfirmed.isEmpty else { return }
        probeEnd = nil
        sendOperations(at: now, into: &effects)
    }

    /// Ends an operation, and tells the server if it may still work on it; nil: the app does not want to be told.
    private mutating func end(_ id: RequestID, _ content: Event.Content?, at now: Moment, into effects: inout [Effect]) {
        if let operation = operations.end(id) { finish(operation, content, isOver: false, at: now, into: &effects) }
    }

    /// - Parameter isOver: Whether the server has ended it.
    private mutating func finish(
        _ operation: PendingRequests<RequestID, PendingOperation>.Pending, _ content: Event.Content?, isOver: Bool, at now: Moment,
        into effects: inout [Effect]
    ) {
        if !isOver, operation.isSentNow, phase == .ready { effects.append(.send(.complete(operation.id))) }
        if let content { notify(operation.id, content, isLast: true, into: &effects) }
        confirm([operation.id], at: now, into: &effects)
        if operations.count == 0, phase == .ready { idleSince = now }
    }

    private func notify(_ id: RequestID, _ content: Event.Content, isLast: Bool, into effects: inout [Effect]) {
        effects.append(.event(Event(request: id, content: content, isLast: isLast)))
    }
}

extension CloseCode {
    /// 4400: this side received an invalid message.
    package static let badRequest = CloseCode(rawValue: 4400)
    /// 4401: the client began an operation before the server had acknowledged the connection.
    package static let unauthorized = CloseCode(rawValue: 4401)
    /// 4403: the server refuses the client.
    package static let forbidden = CloseCode(rawValue: 4403)
    /// 4406: the server does not speak the client's subprotocol.
    package static let subprotocolNotAcceptable = CloseCode(rawValue: 4406)
    /// 4504: the server did not acknowledge the connection in time.
    package static let acknowledgementTimeout = CloseCode(rawValue: 4504)
}
