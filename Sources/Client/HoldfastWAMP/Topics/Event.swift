public import CodecCore
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
