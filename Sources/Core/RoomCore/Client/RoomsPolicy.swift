/// How long a client of rooms waits, and how much it keeps.
public struct RoomsPolicy: Hashable, Sendable {
    /// What program it is, for the hub's logs; at most 128 bytes.
    public var agent: String? = nil
    /// Rooms that are resumed within the `hello`; the others follow with a `join` each.
    public var joinsInHello = 100
    /// How long the hub may take to welcome us: 15 s.
    public var welcomeTimeout: Duration = .seconds(15)
    /// How long the hub may take to answer a `join`, counted from the last answer to any: 15 s.
    public var stateTimeout: Duration = .seconds(15)
    /// How long a publication may be without an ack before it is sent again: 10 s.
    public var resendAfter: Duration = .seconds(10)
    /// How often in a row that may happen without a word about any of them before the connection is given up: 3 times.
    public var resends = 3
    /// How long the hub may take to answer a question for older entries: 15 s.
    public var historyTimeout: Duration = .seconds(15)
    /// How many questions for older entries may be open at once: 64.
    public var questions = 64
    /// How many resumes in a row may fail before each room is joined alone: 5.
    public var failedResumes = 5
    /// How long a room that was being joined alone when the connection was lost is left out, for each time: 10 s, at most 10 min.
    public var suspicion: Duration = .seconds(10)
    /// How often the hub may talk nonsense within a minute before the connection is given up: 5 times.
    public var nonsense = 5
    /// How long to wait after the store has failed before a room is read again: 1 s, doubled each time in a row up to 30 s.
    public var storePause: Duration = .seconds(1)
    /// The least time between two attempts at what the hub refused for now: 100 ms.
    public var leastPause: Duration = .milliseconds(100)
    /// How long to wait before a room is joined again that the hub has no place for, if it does not say how long: 10 s.
    public var crowdedPause: Duration = .seconds(10)
    /// The most that a hub may ask us to wait: 10 min.
    public var longestPause: Duration = .seconds(600)

    /// Messages in the outbox of a room, the failed ones too: 1000.
    public var outboxCount = 1000
    /// Bytes in the outbox of a room: 8 MiB.
    public var outboxBytes = 8 << 20
    /// How long the fate of messages may stay unknown, with a hub at hand, before a new device is taken without them: 30 s.
    public var settling: Duration = .seconds(30)

    /// Entries of a room that may wait to be written; the hub is asked again for what comes beyond: 5000.
    public var unwrittenEntries = 5000
    /// Bytes of payloads of a room that may wait to be written: 16 MiB.
    public var unwrittenBytes = 16 << 20

    /// How long before a token ends a fresh one is asked for; nil: there are none.
    package var tokenMargin: Duration?

    /// Entries of a room that the store keeps: who begins with the beginning is not given more, for it would not stay.
    public var keptEntries = Int64.max

    /// How often typing is told while it goes on: every 3 s.
    public var typingInterval: Duration = .seconds(3)
    /// How long somebody types after the last word of it: 6 s.
    public var typingLife: Duration = .seconds(6)
    /// Those who type in a room, at most: 100.
    public var typists = 100
    /// Those who are present in a room, at most, whatever the hub's limit is: 2000.
    public var members = 2000
    /// Users of a room whose read markers are kept, at most: 2000.
    public var readers = 2000

    /// The usual policy.
    public init() {}
}
