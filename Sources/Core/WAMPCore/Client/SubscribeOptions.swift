public import CodecCore

/// What a subscriber may ask for.
///
/// Listeners of one ``TopicKey`` share a subscription, and ``other`` of the one who came first. One that comes later and wants the retained
/// event has SUBSCRIBE sent once more for it, and is the only one to get that event.
public struct SubscribeOptions: Hashable, Sendable {
    /// Whether the event that the router keeps for the topic is wanted first.
    public var wantsRetained: Bool
    /// How many events of the router's history are fetched after a gap, at most 1024; 0: none.
    ///
    /// Of a topic of which no event has come yet, those of the time before the subscription are among them.
    ///
    /// What this client itself published to others is left out: the router is asked to acknowledge such events, wanted or not, and one is
    /// among them only if the connection was lost before it did. Source: WAMP, "Event History".
    public var historyAfterGap: Int
    /// Other options, sent as they are.
    public var other: ValueMap

    /// Options: no retained event, and no history.
    public init(wantsRetained: Bool = false, historyAfterGap: Int = 0, other: ValueMap = ValueMap()) {
        (self.wantsRetained, self.historyAfterGap, self.other) = (wantsRetained, historyAfterGap, other)
    }
}
