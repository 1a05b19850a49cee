/// How much an outbox keeps, and how it sends.
public struct OutboxPolicy: Hashable, Sendable {
    /// How much may wait for its acknowledgement; by default 1,000 messages with 4 MiB.
    public var capacity: SendVolume
    /// How many messages may be on their way at once; by default 64, at least 1.
    public var window: Int
    /// How long a message may be on its way on a connection that stays, before it is sent again; by default 15 s, at least 100 ms.
    ///
    /// The time counts from when the connection took the message. Each time it is sent again the time doubles, up to 16 times this. After
    /// a loss everything is sent again at once.
    public var resendAfter: Duration
    /// How often a connection may take a message before it is given up; nil, the default: until it is acknowledged.
    public var attempts: Int?

    /// A policy with these values.
    public init(
        capacity: SendVolume = SendVolume(count: 1000, bytes: 4 << 20), window: Int = 64, resendAfter: Duration = .seconds(15),
        attempts: Int? = nil
    ) {
        (self.capacity, self.window, self.resendAfter, self.attempts) = (capacity, window, resendAfter, attempts)
    }
}

/// What a server says of messages of an outbox.
public enum OutboxAnswer<ID: Hashable & Sendable>: Hashable, Sendable {
    /// It has the message.
    case acknowledged(ID)
    /// It has this message, and all that were added before it.
    case acknowledgedThrough(ID)
    /// It does not want the message, so that there is no point in sending it again.
    case refused(ID, reason: String)
}

/// How a message of an outbox ended.
public enum OutboxOutcome: Hashable, Sendable {
    /// The server has it.
    case acknowledged
    /// The server does not want it, or it is longer than the connection takes.
    case refused(reason: String)
    /// It was sent as often as ``OutboxPolicy/attempts`` allows, and nobody acknowledged it.
    case givenUp
    /// The app took it back; the server may have it nevertheless.
    case withdrawn
}
