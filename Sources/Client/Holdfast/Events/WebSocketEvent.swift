import DequeModule
import MachineCore
public import SessionCore
public import WebSocketCore

/// An event in the life of a ``WebSocket``; events come in order.
public enum WebSocketEvent: Sendable {
    /// A connection has opened: the first one, or one after a loss.
    case opened(Opening)
    /// The peer sent a message.
    case message(Message)
    /// The connection was lost, or an attempt failed; the next attempt starts after `delay`.
    ///
    /// `attempt` counts from 1 and starts again once a connection has been stable; see `ReconnectPolicy`. If no consumer has taken several
    /// of these events in a row, only the last is kept.
    case reconnecting(attempt: Int, delay: Duration, cause: WebSocketError)
    /// A message was dropped: it gave way to others, found no room in the queue, or was refused after `send` had returned; see `SendPolicy`.
    case dropped(DroppedSend)
    /// The state has changed; the same as ``WebSocket/states``, but in order with the other events.
    ///
    /// Never ``WebSocketState/closed(_:)``, because ``closed(_:)`` reports that.
    case state(WebSocketState)
    /// A typed stream could not decode a message, and continued with the next.
    case undecodable(UndecodableMessage)
    /// This many events were dropped at this point, because this consumer was too slow; see ``EventBuffering``.
    case missed(Int)
    /// The socket has closed for good.
    ///
    /// Every consumer gets this event exactly once, as the last one.
    case closed(Closure)

    fileprivate var isReconnecting: Bool { if case .reconnecting = self { true } else { false } }
    fileprivate var isOfAttempt: Bool {
        switch self {
        case .reconnecting, .state: true
        default: false
        }
    }
    /// The number of events that it stands for.
    fileprivate var weight: Int { if case .missed(let count) = self { count } else { 1 } }
}

/// A connection of a ``WebSocket`` that has just been opened.
public struct Opening: Sendable, CustomStringConvertible {
    /// The connection; read it through the socket, not through its own ``WebSocketConnection/messages``.
    public let connection: WebSocketConnection
    /// The number of the attempt, counted from 1 since the last stable connection.
    public let attempt: Int
    /// How long there was no connection, by the socket's clock; nil for the first one, zero after a handover from another.
    public let downtime: Duration?

    /// Creates an opening, for tests of code that handles events.
    public init(connection: WebSocketConnection, attempt: Int = 1, downtime: Duration? = nil) {
        (self.connection, self.attempt, self.downtime) = (connection, attempt, downtime)
    }

    /// The subprotocol agreed on, if any.
    public var subprotocol: String? { connection.subprotocol }
    /// The header fields of the server's answer to the upgrade.
    public var headers: HeaderFields { connection.response.headers }

    /// The attempt and the downtime, without header fields and unknown subprotocols, which may contain secrets.
    public var description: String {
        "attempt \(attempt)" + (downtime.map { ", \($0.words) without a connection" } ?? "")
            + (subprotocol.map { ", subprotocol \(Secrecy.subprotocol($0))" } ?? "")
    }
}

/// How a ``WebSocket`` ended for good.
public struct Closure: Sendable, CustomStringConvertible {
    /// Why the socket makes no further attempt; nil if this side closed, or the peer did with 1000.
    public let error: WebSocketError?
    /// The close codes of both sides and which side closed first; nil if there was no connection at the end.
    public let record: CloseRecord?

    /// Creates a closure, for tests of code that handles events.
    public init(error: WebSocketError? = nil, record: CloseRecord? = nil) { (self.error, self.record) = (error, record) }

    /// The code this side sent; nil if it sent none.
    public var sentCode: CloseCode? { record?.sent?.code }
    /// The code the peer sent; nil if it sent none.
    public var receivedCode: CloseCode? { record?.received?.code }
    /// Which side closed first; nil if neither did.
    public var closedFirst: CloseRecord.Side? { record?.closedFirst }

    /// The code that the peer closed with: 1005 if it gave none, 1006 if it sent no close frame; nil if there was no connection at the end.
    public var code: CloseCode? { record?.code }
    /// The close reason of the peer, or else of this side; empty if neither gave one.
    ///
    /// It may be text from the peer: escape it where that matters.
    public var reason: String { [record?.received?.reason, record?.sent?.reason].compactMap(\.self).first { !$0.isEmpty } ?? "" }
    /// Whether both sides had sent a close frame before the link ended; false if there was no connection at the end.
    public var wasClean: Bool { record?.isClean ?? false }

    /// The error, or that the end was normal with the code; does not contain the peer's reason.
    public var description: String {
        guard let error else { return code.map { "without an error, \($0)" } ?? "without an error" }
        return "\(error)"
    }
}

/// Measures how long there was no connection.
struct Outage {
    /// The downtime before the present connection; nil before the first, zero after a handover.
    private(set) var last: Duration?
    /// When the last connection ended.
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

/// A message that was not sent, although it was accepted for sending or could have been.
public struct DroppedSend: Sendable {
    /// The message.
    public let message: Message
    /// The lane of the message.
    public let lane: Lane
    /// Why it was not sent: it gave way to others, found no room, timed out, or the socket was closed.
    public let refusal: SendRefusal

    /// Creates the record of a dropped message.
    public init(message: Message, lane: Lane, refusal: SendRefusal) { (self.message, self.lane, self.refusal) = (message, lane, refusal) }
}

/// A message that a typed stream could not decode; see ``WebSocket/stream(of:where:delivery:)``.
public struct UndecodableMessage: Sendable {
    /// The whole message.
    public let message: Message
    /// The type that it should have become.
    public let type: String
    /// The error of the codec.
    public let error: any Error

    /// Creates a report, for tests of code that handles events.
    public init(message: Message, type: String, error: any Error) { (self.message, self.type, self.error) = (message, type, error) }
}

/// What happens to events that a busy consumer has not taken yet.
///
/// Each consumer of ``WebSocket/events(buffering:)`` has its own buffer. It learns the number of dropped events as
/// ``WebSocketEvent/missed(_:)`` at the place of the gap. ``WebSocketEvent/closed(_:)`` is never dropped.
public enum EventBuffering: Hashable, Sendable {
    /// Loses nothing: while the buffer is full, the socket stops reading, and in the end the peer has to wait.
    case suspend(capacity: Int = 64)
    /// Continues to read; if the buffer is full, the oldest event is dropped.
    case dropOldest(capacity: Int)
    /// Continues to read; only the newest event is kept.
    case latest

    /// The maximum number of waiting events, at least 1.
    var capacity: Int {
        switch self {
        case .suspend(let capacity), .dropOldest(let capacity): max(capacity, 1)
        case .latest: 1
        }
    }

    /// Whether reading continues while the buffer is full.
    var isLossy: Bool { if case .suspend = self { false } else { true } }
}

/// The events that no consumer has taken yet, with the connections that are to be read between them.
///
/// The owner limits the number of connections. This type limits the events after each connection, so that an absent consumer costs nothing.
struct EventBacklog {
    typealias Source = LiveSession.Source
    /// The maximum number of events kept after a connection; older ones become one `missed`.
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

    /// Drops the reconnect events and states of earlier failed attempts, so that only the last of a row is kept.
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
    /// An event of the socket.
    public typealias Element = WebSocketEvent
    /// The sequence never fails: failures are events.
    public typealias Failure = Never
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: EventConsumer(socket, buffering, .everything)) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let subscription: EventConsumer

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next() async -> WebSocketEvent? { await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketEvent? {
            await subscription.next()
        }

        /// Waits for the next event, and calls `idle` first unless an event is ready.
        @usableFromInline package mutating func next(
            isolation actor: isolated (any Actor)?, idle: () -> Void
        ) async -> WebSocketEvent? {
            await subscription.next(idle: idle)
        }
    }
}
