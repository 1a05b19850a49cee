public import CodecCore
import Holdfast
import StreamCore
public import WAMPCore

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
