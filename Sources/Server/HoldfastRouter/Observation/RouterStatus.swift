/// What a router has done, and has at present.
public struct RouterStatus: Hashable, Sendable {
    /// Clients that are connected, whether or not they have joined.
    public var connections = 0
    /// Sessions that have joined and not left.
    public var sessions = 0
    /// Sessions that have ever joined.
    public var joined = 0
    /// Clients that were not let in.
    public var refused = 0
    /// Clients that broke the protocol, and were cut off.
    public var violations = 0
    /// Clients that were cut off for too much waited for them.
    public var overruns = 0
    /// Calls that came, granted or not; each part of progressive input is one.
    public var calls = 0
    /// Publications that came, granted or not.
    public var publications = 0
    /// Events that went out: a publication counts for each subscriber.
    public var events = 0
    /// Messages that came.
    public var messagesIn = 0
    /// Messages that were handed to connections.
    public var messagesOut = 0
    /// Bytes of those.
    public var bytesOut = 0
    /// Messages too long for their receiver, or whose content its serialization has no form for: they ended as errors, or were left out.
    public var unsayable = 0
    /// Messages for which a client had no room, for others had filled its queue: calls ended as errors, events were left out.
    public var refusedMessages = 0

    /// Nothing yet.
    public init() {}
}

extension RouterStatus {
    /// Adds what another has counted.
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
