public import CodecCore
import Holdfast
import HoldfastProtocols
import Logging
import StreamCore
public import WAMPCore

/// The events of a topic for one subscriber; see ``WAMPClient/subscribe(_:options:buffer:)-(Topic<Content>,_,_)``.
///
/// The subscription lasts as long as this value, or an iteration over it. Several independent subscribers of one topic share one
/// subscription at the router. The subscription survives a lost connection; ``withGaps`` reports where events may be missing. The stream
/// ends when ``end()`` is called or the client is closed, and fails when the router refuses the subscription for good.
///
/// An event that cannot be decoded as the expected type is left out and logged. Only one iteration at a time is allowed.
public struct Events<Content>: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event<Content>
    /// The error of a failed stream.
    public typealias Failure = WAMPError
    let feed: EventFeed
    let form: WAMPForm<Content>

    /// The events, with reports of missing ones.
    public var withGaps: EventItems<Content> { EventItems(feed: feed, form: form) }

    /// Ends this subscriber's subscription, and with it the stream.
    public func end() { feed.end() }

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(items: withGaps.makeAsyncIterator()) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error of a failed stream.
        public typealias Failure = WAMPError
        var items: EventItems<Content>.AsyncIterator

        /// Waits for the next event; returns nil after a regular end, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> Event<Content>? { try await next(isolation: nil) }

        /// Waits for the next event; returns nil after a regular end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> Event<Content>? {
            while let item = try await items.next(isolation: actor) {
                switch item {
                case .event(let event): return event
                case .undecodable(let error): items.feed.shell.context.log(undecodable: error)
                case .gap: break
                }
            }
            return nil
        }
    }
}

/// The events of a topic, with reports of missing ones; see ``Events/withGaps``.
public struct EventItems<Content>: AsyncSequence, Sendable {
    /// An event, a gap, or an event that could not be decoded.
    public typealias Element = EventItem<Content>
    /// The error of a failed stream.
    public typealias Failure = WAMPError
    let feed: EventFeed
    let form: WAMPForm<Content>

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed, form: form) }

    /// Iterates over the elements.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error of a failed stream.
        public typealias Failure = WAMPError
        let feed: EventFeed
        let form: WAMPForm<Content>

        /// Waits for the next element; returns nil after a regular end, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> EventItem<Content>? { try await next(isolation: nil) }

        /// Waits for the next element; returns nil after a regular end, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> EventItem<Content>? {
            switch try await feed.mailbox.next() {
            case .value(let raw)?:
                do {
                    let content = try form.decode(raw.arguments)
                    return .event(Event(content: content, publication: raw.publication, topic: raw.topic, details: raw.details))
                } catch {
                    return .undecodable(.undecodable(error, "EVENT \(raw.topic)"))
                }
            case .note(let gap)?: return .gap(gap)
            case .dropped(let count)?: return .gap(.dropped(count))
            case nil: return nil
            }
        }
    }
}

/// One subscriber; releasing this object ends its subscription.
final class EventFeed: Sendable {
    let shell: WAMPShell
    let handle: ClientHandle
    let mailbox: EventMailbox

    init(_ shell: WAMPShell, _ handle: ClientHandle, _ mailbox: EventMailbox) {
        (self.shell, self.handle, self.mailbox) = (shell, handle, mailbox)
    }

    deinit { end() }

    func end() { shell.giveUp(handle) }
}

/// An event of a topic.
public struct Event<Content> {
    /// The content of the event.
    public let content: Content
    /// The router's ID of the publication, which is the same for all subscribers.
    public let publication: WAMPID
    /// The topic of the publication; for a pattern, the topic that matched.
    public let topic: String
    /// The details of the event, as the router reports them.
    public let details: ValueMap

    /// The session ID of the publisher, if the router reports it.
    public var publisher: WAMPID? { details["publisher"]?.int.map { WAMPID(clamping: $0) } }
    /// The user ID of the publisher, if the router reports it.
    public var publisherAuthID: String? { details["publisher_authid"]?.string }
    /// The role of the publisher, if the router reports it.
    public var publisherAuthRole: String? { details["publisher_authrole"]?.string }
    /// Whether the event was retained by the router: it was published before the subscription.
    public var isRetained: Bool { details["retained"]?.bool ?? false }
}

extension Event: Sendable where Content: Sendable {}

/// A received event, not decoded yet.
struct RawEvent: Sendable {
    let publication: WAMPID
    let topic: String
    let details: ValueMap
    let arguments: WAMPArguments
}

/// An element of a stream of events; see ``Events/withGaps``.
public enum EventItem<Content> {
    /// An event.
    case event(Event<Content>)
    /// Events may be missing at this point.
    case gap(EventGap)
    /// An event that could not be decoded as the expected type, with the error.
    case undecodable(WAMPError)
}

extension EventItem: Sendable where Content: Sendable {}

/// The reason why events may be missing from a stream.
public enum EventGap: Hashable, Sendable {
    /// The connection was lost, and the subscription is active again: events published in between are missing.
    case reconnected
    /// The same, but the given number of events came from the router's history; events that it no longer has are still missing.
    case filled(events: Int)
    /// The router has revoked the subscription, and has restored it.
    case revoked(reason: String?)
    /// The given number of events was dropped, because this consumer is too slow.
    case dropped(Int)

    init(_ gap: ClientGap) {
        switch gap {
        case .reconnected: self = .reconnected
        case .filled(let events): self = .filled(events: events)
        case .revoked(let reason): self = .revoked(reason: reason)
        }
    }
}

/// The policy for events that arrive while their consumer is busy.
///
/// Each subscriber has a buffer of its own, so a slow one does not delay the others. A subscriber that misses events receives
/// ``EventGap/dropped(_:)`` in their place.
public enum EventBuffer: Hashable, Sendable {
    /// Drops the oldest events when the given number of events is waiting.
    case dropOldest(capacity: Int = 1024)
    /// Drops new events when the given number of events is waiting.
    case dropNewest(capacity: Int = 1024)
    /// Fails the stream with ``WAMPError/Code/overrun`` when the given number is waiting; the waiting events are delivered first.
    case fail(capacity: Int = 1024)
}

/// The queue of the events of one subscriber.
typealias EventMailbox = Mailbox<ValuesAndNotes<RawEvent, EventGap>, WAMPError>

extension EventBuffer {
    /// A queue with this policy.
    var line: ValuesAndNotes<RawEvent, EventGap> {
        switch self {
        case .dropOldest(let capacity): ValuesAndNotes(capacity: capacity, .dropOldest)
        case .dropNewest(let capacity): ValuesAndNotes(capacity: capacity, .dropNewest)
        case .fail(let capacity): ValuesAndNotes(capacity: capacity, .refuse)
        }
    }
}
