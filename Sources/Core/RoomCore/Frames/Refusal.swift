/// Why something was refused, and what would help.
public struct Refusal: Hashable, Sendable {
    /// What happened; the numbers are those of the protocol.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The number on the wire.
        public var rawValue: Int64

        /// A code by its number.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not a frame of this protocol.
        public static let malformed = Code(rawValue: 1001)
        /// No common version.
        public static let version = Code(rawValue: 1002)
        /// `hello` is missing, late or repeated.
        public static let order = Code(rawValue: 1003)
        /// The publication comes before the room's state.
        public static let early = Code(rawValue: 1004)
        /// The token is missing, malformed or not ours.
        public static let token = Code(rawValue: 2001)
        /// The token has ended.
        public static let expired = Code(rawValue: 2002)
        /// The device belongs to another user.
        public static let device = Code(rawValue: 2003)
        /// No right to do that in this room.
        public static let rights = Code(rawValue: 3001)
        /// Not a room's name.
        public static let name = Code(rawValue: 3002)
        /// Not joined.
        public static let notJoined = Code(rawValue: 3003)
        /// Too many messages or bytes.
        public static let rate = Code(rawValue: 4001)
        /// The payload or its type is too long.
        public static let size = Code(rawValue: 4002)
        /// Too many rooms or connections.
        public static let count = Code(rawValue: 4003)
        /// Issued longer ago than the hub remembers.
        public static let tooOld = Code(rawValue: 4004)
        /// Issued in the future.
        public static let tooNew = Code(rawValue: 4005)
        /// As much is stored as may be, of the user, the room or the hub.
        public static let quota = Code(rawValue: 4006)
        /// It cannot be stored now.
        public static let storage = Code(rawValue: 5001)
        /// This hub lags behind the log.
        public static let lagging = Code(rawValue: 5002)
        /// The hub stops.
        public static let stopping = Code(rawValue: 5003)

        /// The number.
        public var description: String { String(rawValue) }
    }
    /// Whether, and when, to try again.
    public enum Retry: Hashable, Sendable {
        /// It will be refused again.
        case never
        /// At once.
        case now
        /// After so many milliseconds.
        case after(Int64)
        /// With a new connection.
        case reconnect
    }
    /// What happened.
    public var code: Code
    /// Whether to try again.
    public var retry: Retry
    /// The room that it is about.
    public var room: RoomName?
    /// The publication that it is about.
    public var cseq: Int64?
    /// The question that it answers.
    public var reference: Int64?
    /// The versions of the hub, if none was common.
    public var versions: [Int64]
    /// For people; at most 256 bytes.
    public var text: String

    /// A refusal.
    public init(
        _ code: Code, retry: Retry = .never, room: RoomName? = nil, cseq: Int64? = nil, reference: Int64? = nil, versions: [Int64] = [],
        _ text: String
    ) {
        (self.code, self.retry, self.room, self.cseq) = (code, retry, room, cseq)
        (self.reference, self.versions, self.text) = (reference, versions, text)
    }
}
