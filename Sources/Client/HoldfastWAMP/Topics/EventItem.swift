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
