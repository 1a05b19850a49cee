import DequeModule
import MachineCore
public import SessionCore
public import WebSocketCore

/// What happens in the life of a ``WebSocket``, in order.
public enum WebSocketEvent: Sendable {
    /// A connection is open; the first one, or one after a loss.
    case opened(Opening)
    /// The peer sent a message.
    case message(Message)
    /// The connection was lost, or an attempt at one failed: the next attempt starts after `delay`.
    ///
    /// `attempt` counts from 1 and starts afresh once a connection has been stable; see `ReconnectPolicy`. Of several in a row that
    /// nobody has taken yet only the last is kept.
    case reconnecting(attempt: Int, delay: Duration, cause: WebSocketError)
    /// A message of ours was not sent, and nobody else tells: it gave way to others, or was overdue; see `SendPolicy`.
    case dropped(DroppedSend)
    /// It does something else now; as ``WebSocket/states``, in its place among the other events.
    ///
    /// Never ``WebSocketState/closed(_:)``, for which there is ``closed(_:)``.
    case state(WebSocketState)
    /// A typed stream could make nothing of a message, and went on with the next.
    case undecodable(UndecodableMessage)
    /// So many events were dropped here, for this consumer took them too slowly; see ``EventBuffering``.
    case missed(Int)
    /// Over for good.
    ///
    /// Always the last event, always there, and once for each consumer.
    case closed(Closure)

    fileprivate var isReconnecting: Bool { if case .reconnecting = self { true } else { false } }
    fileprivate var isOfAttempt: Bool {
        switch self {
        case .reconnecting, .state: true
        default: false
        }
    }
    /// How many events it stands for.
    fileprivate var weight: Int { if case .missed(let count) = self { count } else { 1 } }
}

/// A connection of a ``WebSocket`` that has just been opened.
public struct Opening: Sendable, CustomStringConvertible {
    /// The connection; it is read through the socket, not by its own ``WebSocketConnection/messages``.
    public let connection: WebSocketConnection
    /// Which attempt it was, counted from 1 since the last stable connection.
    public let attempt: Int
    /// How long there was no connection, by the socket's clock; nil for the first one, zero if one took over from another.
    public let downtime: Duration?

    /// An opening, as a ``WebSocket`` tells it; for tests of what hears of it.
    public init(connection: WebSocketConnection, attempt: Int = 1, downtime: Duration? = nil) {
        (self.connection, self.attempt, self.downtime) = (connection, attempt, downtime)
    }

    /// The subprotocol agreed on, if any.
    public var subprotocol: String? { connection.subprotocol }
    /// The header fields of the server's answer to the upgrade.
    public var headers: HeaderFields { connection.response.headers }

    /// Which attempt, and after how long; no header field and no subprotocol that is not well known, for they may hold secrets.
    public var description: String {
        "attempt \(attempt)" + (downtime.map { ", \($0.words) without a connection" } ?? "")
            + (subprotocol.map { ", subprotocol \(Secrecy.subprotocol($0))" } ?? "")
    }
}

/// How a ``WebSocket`` ended for good.
public struct Closure: Sendable, CustomStringConvertible {
    /// Why no further attempt is made; nil if this side closed, or the peer did with 1000.
    public let error: WebSocketError?
    /// Both close codes and who closed first; nil if there was no connection at the end.
    public let record: CloseRecord?

    /// An end, as a ``WebSocket`` tells it; for tests of what hears of it.
    public init(error: WebSocketError? = nil, record: CloseRecord? = nil) { (self.error, self.record) = (error, record) }

    /// The code this side sent; nil if it sent none.
    public var sentCode: CloseCode? { record?.sent?.code }
    /// The code the peer sent; nil if it sent none.
    public var receivedCode: CloseCode? { record?.received?.code }
    /// Who closed first; nil if nobody did.
    public var closedFirst: CloseRecord.Side? { record?.closedFirst }

    /// The code that the peer closed with: 1005 if it named none, 1006 if it said nothing; nil if there was no connection at the end.
    public var code: CloseCode? { record?.code }
    /// What the peer gave as its reason, else what this side did; empty if nobody gave one.
    ///
    /// It may be the peer's text: escape it where that matters.
    public var reason: String { [record?.received?.reason, record?.sent?.reason].compactMap(\.self).first { !$0.isEmpty } ?? "" }
    /// Whether both sides had said goodbye before the link ended; false if there was no connection at the end.
    public var wasClean: Bool { record?.isClean ?? false }

    /// Why, or that it was in peace, and the code; the peer's reason is left out.
    public var description: String {
        guard let error else { return code.map { "in peace, \($0)" } ?? "in peace" }
        return "\(error)"
    }
}

/// How long there was no connection.
struct Outage {
    /// Before the present connection; nil before the first, zero if it took over from another.
    private(set) var last: Duration?
    /// When the last connection went.
    private var beginning: Moment?
    private var isConnected = false

    mutating func note(_ phase: Reconnector.Phase, at now: Moment) {
        switch phase {
        case .connected, .handingOver:
            last = isConnected ? .zero : beginning.map { now - $0 }
            isConnected = true
        case .idle, .connecting, .waiting, .held, .stopped:
            if isConnected { beginning = now }
            isConnected = false
        }
    }
}

/// A message of ours that was accepted for sending, or would have been, and never left.
public struct DroppedSend: Sendable {
    /// What was to be sent.
    public let message: Message
    /// With which urgency.
    public let lane: Lane
    /// Why it was not: it gave way to others, was overdue, or the socket was closed.
    public let refusal: SendRefusal

    /// A message that was dropped.
    public init(message: Message, lane: Lane, refusal: SendRefusal) { (self.message, self.lane, self.refusal) = (message, lane, refusal) }
}

/// A message of which a typed stream could make nothing; see ``WebSocket/stream(of:where:delivery:)``.
public struct UndecodableMessage: Sendable {
    /// The message, whole.
    public let message: Message
    /// What it should have become.
    public let type: String
    /// What the codec says of it.
    public let error: any Error

    /// A report, as a typed stream makes it; for tests of what hears of it.
    public init(message: Message, type: String, error: any Error) { (self.message, self.type, self.error) = (message, type, error) }
}

/// What happens to events that a consumer has not taken yet, while it is busy and others read on.
///
/// Each consumer of ``WebSocket/events(buffering:)`` has a buffer of its own. What it dropped it is told as ``WebSocketEvent/missed(_:)``,
/// in the place of the hole; ``WebSocketEvent/closed(_:)`` is never dropped.
public enum EventBuffering: Hashable, Sendable {
    /// Nothing is lost: while so many events wait, nobody reads, and in the end the peer has to wait.
    case suspend(capacity: Int = 64)
    /// Reading goes on; once so many events wait, the oldest gives way.
    case dropOldest(capacity: Int)
    /// Reading goes on; only the newest event waits.
    case latest

    /// How many events may wait, at least 1.
    var capacity: Int {
        switch self {
        case .suspend(let capacity), .dropOldest(let capacity): max(capacity, 1)
        case .latest: 1
        }
    }

    /// Whether reading goes on while the buffer is full.
    var isLossy: Bool { if case .suspend = self { false } else { true } }
}

/// What happened and nobody has taken yet: the news, and the connections that are to be read between them.
///
/// The owner bounds the connections; the news after each is bounded here, so that whoever stays away costs nothing.
struct EventBacklog {
    typealias Source = LiveSession.Source
    /// Of the news after a connection at most so many are kept; older ones become one `missed`.
    static let newsLimit = 64

    private var sources: Deque<Source> = []

    var first: Source? { sources.first }
    var connectionCount: Int { sources.count { $0.event == nil } }

    @discardableResult mutating func removeFirst() -> Source { sources.removeFirst() }

    mutating func add(_ opening: Opening) {
        sources += [.event(.opened(opening)), .connection(opening.connection)]
    }

    mutating func add(_ event: WebSocketEvent) {
        if event.isReconnecting { dropEarlierFailures() }
        sources.append(.event(event))
        let start = newsStart
        guard sources.count - start > Self.newsLimit else { return }
        let missed = (sources[start].event?.weight ?? 0) + (sources[start + 1].event?.weight ?? 0)
        sources.replaceSubrange(start..<start + 2, with: CollectionOfOne(.event(.missed(missed))))
    }

    /// Of attempts that failed in a row only the news of the last is kept.
    private mutating func dropEarlierFailures() {
        let start = newsStart
        guard let last = sources[start...].lastIndex(where: { $0.event?.isReconnecting ?? false }) else { return }
        let kept = sources[start...last].filter { !($0.event?.isOfAttempt ?? false) }
        sources.replaceSubrange(start...last, with: kept)
    }

    private var newsStart: Int { (sources.lastIndex { $0.event == nil } ?? -1) + 1 }
}

extension LiveSession.Source {
    fileprivate var event: WebSocketEvent? { if case .event(let event) = self { event } else { nil } }
}

/// The events of a ``WebSocket``; see ``WebSocket/events(buffering:)``.
public struct WebSocketEvents: AsyncSequence, Sendable {
    /// Something that happened.
    public typealias Element = WebSocketEvent
    /// The sequence never fails: failures are events.
    public typealias Failure = Never
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: Subscription(socket, buffering, .everything)) }

    /// Takes events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let subscription: Subscription

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next() async -> WebSocketEvent? { await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketEvent? {
            await subscription.next()
        }
    }
}
