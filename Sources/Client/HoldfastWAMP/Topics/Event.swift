public import CodecCore
import Holdfast
import StreamCore
public import WAMPCore

/// An event of a topic.
public struct Event<Content> {
    /// What was published.
    public let content: Content
    /// The router's name for the publication, the same for all who get it.
    public let publication: WAMPID
    /// The topic it was published to; under a pattern, the one that matched.
    public let topic: String
    /// What the router says about it.
    public let details: ValueMap

    /// The session that published it, if the router says so.
    public var publisher: WAMPID? { details["publisher"]?.int.map { WAMPID(clamping: $0) } }
    /// Who published it, if the router says so.
    public var publisherAuthID: String? { details["publisher_authid"]?.string }
    /// As what the publisher has joined, if the router says so.
    public var publisherAuthRole: String? { details["publisher_authrole"]?.string }
    /// Whether it is the one that the router kept for the topic, published before the subscription.
    public var isRetained: Bool { details["retained"]?.bool ?? false }
}

extension Event: Sendable where Content: Sendable {}

/// An event as it came.
struct RawEvent: Sendable {
    let publication: WAMPID
    let topic: String
    let details: ValueMap
    let arguments: WAMPArguments
}

/// What a stream of events brings; see ``Events/withGaps``.
public enum EventItem<Content> {
    /// An event.
    case event(Event<Content>)
    /// Here events may be missing.
    case gap(EventGap)
    /// An event that is not of the type that was asked for; why.
    case undecodable(WAMPError)
}

extension EventItem: Sendable where Content: Sendable {}

/// Why events may be missing from a stream.
public enum EventGap: Hashable, Sendable {
    /// The connection was lost, and the subscription stands again: what was published between the two did not come.
    case reconnected
    /// The same, but so many events came from the router's history; what it no longer has is missing still.
    case filled(events: Int)
    /// The router took the subscription away, and gave it back.
    case revoked(reason: String?)
    /// So many events were dropped here, for this consumer took them too slowly.
    case dropped(Int)

    init(_ gap: ClientGap) {
        switch gap {
        case .reconnected: self = .reconnected
        case .filled(let events): self = .filled(events: events)
        case .revoked(let reason): self = .revoked(reason: reason)
        }
    }
}

/// What becomes of events that come while their consumer is busy.
///
/// Each subscriber has a buffer of its own. A slow one holds up nobody: what it misses is told as ``EventGap/dropped(_:)``, in the place
/// of the hole.
public enum EventBuffer: Hashable, Sendable {
    /// Once so many events wait, the oldest gives way.
    case dropOldest(capacity: Int = 1024)
    /// Once so many events wait, those that come are dropped.
    case dropNewest(capacity: Int = 1024)
    /// Once so many events wait, the stream fails with ``WAMPError/Code/overrun`` behind them.
    case fail(capacity: Int = 1024)
}

/// Where the events of one subscriber wait for it.
typealias EventMailbox = Mailbox<ValuesAndNotes<RawEvent, EventGap>, WAMPError>

extension EventBuffer {
    /// What does this.
    var line: ValuesAndNotes<RawEvent, EventGap> {
        switch self {
        case .dropOldest(let capacity): ValuesAndNotes(capacity: capacity, .dropOldest)
        case .dropNewest(let capacity): ValuesAndNotes(capacity: capacity, .dropNewest)
        case .fail(let capacity): ValuesAndNotes(capacity: capacity, .refuse)
        }
    }
}
