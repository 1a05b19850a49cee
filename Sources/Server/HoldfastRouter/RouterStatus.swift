import Logging
import Metrics
import WAMPCore

/// The counts and the present state of a router.
public struct RouterStatus: Hashable, Sendable {
    /// The number of connected clients, joined or not.
    public var connections = 0
    /// The number of present sessions.
    public var sessions = 0
    /// The number of sessions that have ever joined.
    public var joined = 0
    /// The number of clients that were refused.
    public var refused = 0
    /// The number of clients that were disconnected for a protocol violation.
    public var violations = 0
    /// The number of clients that were disconnected because too much waited for them.
    public var overruns = 0
    /// The number of calls received, allowed or not.
    ///
    /// Each part of a progressive input counts as one.
    public var calls = 0
    /// The number of publications received, allowed or not.
    public var publications = 0
    /// The number of events sent: a publication counts for each subscriber.
    public var events = 0
    /// The number of messages received.
    public var messagesIn = 0
    /// The number of messages passed to connections.
    public var messagesOut = 0
    /// The number of bytes in those messages.
    public var bytesOut = 0
    /// Messages too long for their receiver, or not representable in its serialization: they ended as errors, or were dropped.
    public var unsayable = 0
    /// Messages for which a client had no room because others had filled its queue: calls ended as errors, events were dropped.
    public var refusedMessages = 0

    /// Creates counts of zero.
    public init() {}
}

extension RouterStatus {
    /// Adds the counts of another status.
    mutating func add(_ other: RouterStatus) {
        connections += other.connections
        sessions += other.sessions
        joined += other.joined
        refused += other.refused
        violations += other.violations
        overruns += other.overruns
        calls += other.calls
        publications += other.publications
        events += other.events
        messagesIn += other.messagesIn
        messagesOut += other.messagesOut
        bytesOut += other.bytesOut
        unsayable += other.unsayable
        refusedMessages += other.refusedMessages
    }
}

/// Reports the router's counts as metrics.
final class RouterMeters {
    private let gauges: [(meter: Meter, value: (RouterStatus) -> Int)]
    private let counters: [(counter: Counter, value: (RouterStatus) -> Int)]
    private var told: [Int]

    init(_ factory: any MetricsFactory) {
        let gauges: [(String, (RouterStatus) -> Int)] = [
            ("holdfast_router_connections", \.connections), ("holdfast_router_sessions", \.sessions),
        ]
        let counters: [(String, (RouterStatus) -> Int)] = [
            ("holdfast_router_joined", \.joined), ("holdfast_router_refused", \.refused), ("holdfast_router_violations", \.violations),
            ("holdfast_router_overruns", \.overruns), ("holdfast_router_calls", \.calls),
            ("holdfast_router_publications", \.publications), ("holdfast_router_events", \.events),
            ("holdfast_router_messages_in", \.messagesIn), ("holdfast_router_messages_out", \.messagesOut),
            ("holdfast_router_bytes_out", \.bytesOut), ("holdfast_router_unsayable", \.unsayable),
            ("holdfast_router_refused_messages", \.refusedMessages),
        ]
        self.gauges = gauges.map { (Meter(label: $0, factory: factory), $1) }
        self.counters = counters.map { (Counter(label: $0, factory: factory), $1) }
        told = counters.map { _ in 0 }
    }

    func notify(_ status: RouterStatus) {
        for (meter, value) in gauges { meter.set(value(status)) }
        for (index, (counter, value)) in counters.enumerated() {
            let value = value(status)
            counter.increment(by: value - told[index])
            told[index] = value
        }
    }
}

/// The router's log: sessions that join and leave, and optionally every message.
struct RouterJournal: Sendable {
    private let logger: Logger
    /// Whether messages are logged.
    ///
    /// Formatting a message costs more than routing it.
    private let isTracing: Bool
    /// The meaning of the ids in each client's messages, learned from them; kept from its HELLO until it is gone.
    private var names: [RouterConnection: MessageNames] = [:]

    init(_ logger: Logger) { (self.logger, isTracing) = (logger, logger.logLevel <= .trace) }

    mutating func received(_ message: WAMPMessage, from connection: RouterConnection) {
        guard isTracing else { return }
        logger.trace("\(connection.label) ← \(words(message, connection))")
        if case .hello = message { names[connection] = MessageNames() }
        names[connection]?.noteSent(message)
    }

    mutating func sent(_ message: WAMPMessage, to connection: RouterConnection) {
        guard isTracing else { return }
        logger.trace("\(connection.label) → \(words(message, connection))")
        names[connection]?.noteReceived(message)
    }

    func sent(_ message: WAMPMessage, to members: [RouterConnection]) {
        if isTracing, let first = members.first { logger.trace("\(members.count) clients → \(words(message, first))") }
    }

    /// Notes that a client is gone.
    mutating func forget(_ connection: RouterConnection) { names[connection] = nil }

    func note(_ news: RouterNews) {
        switch news {
        case .joined(let session, let realm, let authID, let authRole):
            logger.info("session \(session) joined \(shown(realm)) as \(shown(authID)) (\(shown(authRole)))")
        case .left(let session, let realm, let reason):
            logger.info("session \(session) left \(shown(realm)): \(reason.map(shown) ?? "its connection was lost")")
        case .refused(let connection, let reason): logger.notice("\(connection.label) was not let in: \(shown(reason))")
        case .violation(let connection, let how): logger.notice("\(connection.label) broke the protocol: \(how)")
        case .overrun(let session, let realm):
            logger.notice("session \(session) of \(shown(realm)) was cut off: too much waited for it")
        case .stopped: logger.info("stopped")
        }
    }

    private func shown(_ text: String) -> String { RouterNews.shown(text) }

    private func words(_ message: WAMPMessage, _ connection: RouterConnection) -> String {
        message.words(names[connection]?.wording(payloadLimit: 0) ?? WAMPWording())
    }
}

extension RouterConnection {
    /// The name in logs.
    var label: String { "client \(port).\(slot)" }
}
