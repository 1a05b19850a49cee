/// The timeouts, retry pauses and storage limits of a rooms client.
public struct RoomsPolicy: Hashable, Sendable {
    /// The name of the client program, for the hub's logs; at most 128 bytes.
    public var agent: String? = nil
    /// The maximum number of rooms that `hello` resumes; the client sends a separate `join` for each further room.
    public var joinsInHello = 100
    /// The time limit for the hub's `welcome`: 15 s.
    public var welcomeTimeout: Duration = .seconds(15)
    /// The time limit for the answer to a `join`, counted from the last answer to any `join`: 15 s.
    public var stateTimeout: Duration = .seconds(15)
    /// The time without an ack after which the client sends a publication again: 10 s.
    public var resendAfter: Duration = .seconds(10)
    /// The number of resends in a row without any ack or error after which the client drops the connection: 3.
    public var resends = 3
    /// The time limit for the answer to a history request: 15 s.
    public var historyTimeout: Duration = .seconds(15)
    /// The maximum number of pending history requests: 64.
    public var questions = 64
    /// The number of failed resumes in a row after which the client joins each room separately: 5.
    public var failedResumes = 5
    /// The pause for a room whose separate join was pending when the connection was lost, per such loss: 10 s, at most 10 min.
    public var suspicion: Duration = .seconds(10)
    /// The number of protocol violations by the hub within a minute after which the client drops the connection: 5.
    public var nonsense = 5
    /// The pause after a store failure before the client reads the room again: 1 s, doubled for each failure in a row, up to 30 s.
    public var storePause: Duration = .seconds(1)
    /// The minimum time between two attempts after the hub refused a request temporarily: 100 ms.
    public var leastPause: Duration = .milliseconds(100)
    /// The pause before the next attempt if the hub has no place for a room or a connection and names no pause: 10 s.
    public var crowdedPause: Duration = .seconds(10)
    /// The maximum pause that the client accepts from a hub: 10 min.
    public var longestPause: Duration = .seconds(600)

    /// The maximum number of messages in the outbox of a room, including failed messages: 1000.
    public var outboxCount = 1000
    /// The maximum number of bytes in the outbox of a room: 8 MiB.
    public var outboxBytes = 8 << 20
    /// The time limit to find out, while connected, which messages the hub has stored, before the client takes a new device ID: 30 s.
    public var settling: Duration = .seconds(30)

    /// The maximum number of entries of a room that wait for the store; the client requests further entries again later: 5000.
    public var unwrittenEntries = 5000
    /// The maximum number of payload bytes of a room that wait for the store: 16 MiB.
    public var unwrittenBytes = 16 << 20

    /// How long before a token expires the client asks for a new one; nil: the client uses no tokens.
    package var tokenMargin: Duration?

    /// The number of entries of a room that the store keeps.
    ///
    /// A client that starts at the beginning of a room fetches no more than this, because the store would delete the rest.
    public var keptEntries = Int64.max

    /// The interval at which the client repeats a typing notice while the user types: 3 s.
    public var typingInterval: Duration = .seconds(3)
    /// How long a user counts as typing after the last typing notice: 6 s.
    public var typingLife: Duration = .seconds(6)
    /// The maximum number of typing users that the client tracks in a room: 100.
    public var typists = 100
    /// The maximum number of present members that the client tracks in a room, whatever the hub's limit is: 2000.
    public var members = 2000
    /// The maximum number of users of a room whose read markers the client keeps: 2000.
    public var readers = 2000

    /// Creates the default policy.
    public init() {}
}
