/// What a client says to a hub.
public enum ClientFrame: Hashable, Sendable {
    /// The first frame.
    case hello(Hello)
    /// A fresh token.
    case auth(token: String)
    /// Joins a room, or catches up in it.
    case join(Join)
    /// Leaves a room.
    case leave(RoomName)
    /// Publishes a message.
    case publish(RoomName, Publication)
    /// Says how far its user has read.
    case read(RoomName, upTo: Int64)
    /// Asks for older entries.
    case history(History)
    /// Sets its presence.
    case presence(RoomName, Presence)
    /// Asks for all who are present.
    case members(RoomName)
    /// Says whether its user types.
    case typing(RoomName, Bool)
    /// Sends something that nobody stores.
    case signal(RoomName, Signal)
    /// Asks for a `pong`.
    case ping(Int64)

    /// Who comes, and where it was.
    public struct Hello: Hashable, Sendable {
        /// The versions that the client speaks.
        public var versions: [Int64]
        /// The incarnation of its store.
        public var device: DeviceID
        /// Its proof of who it is.
        public var token: String?
        /// What program it is, for logs; at most 128 bytes.
        public var agent: String?
        /// The rooms that it resumes.
        public var joins: [Join]

        /// A client's first words.
        public init(versions: [Int64], device: DeviceID, token: String?, agent: String? = nil, joins: [Join] = []) {
            (self.versions, self.device, self.token, self.agent, self.joins) = (versions, device, token, agent, joins)
        }
    }

    /// Where a client stands in a room.
    public struct Join: Hashable, Sendable {
        /// The room.
        public var room: RoomName
        /// The last entry that it has stored, or ``LogPosition/nowhere``.
        ///
        /// Epoch 0 with a negative number asks for so many of the last entries.
        public var cursor: LogPosition
        /// How many missed entries it wants at most, instead of a snapshot; 0: as many as the hub gives.
        public var limit: Int64
        /// Whether it wants to know who is present, and be present itself.
        public var wantsPresence: Bool
        /// The number that its next message will get.
        public var next: Int64
        /// The proof that came with the last entry; nil: it has none.
        public var proof: CursorProof?

        /// Joins a room.
        public init(
            room: RoomName, cursor: LogPosition = .nowhere, limit: Int64 = 0, wantsPresence: Bool = false, next: Int64 = 1,
            proof: CursorProof? = nil
        ) {
            (self.room, self.cursor, self.limit, self.wantsPresence) = (room, cursor, limit, wantsPresence)
            (self.next, self.proof) = (next, proof)
        }
    }

    /// A question for older entries.
    public struct History: Hashable, Sendable {
        /// The client's name for the question.
        public var reference: Int64
        /// The room.
        public var room: RoomName
        /// Entries below this number are wanted.
        public var before: Int64
        /// How many at most.
        public var limit: Int64

        /// A question for older entries.
        public init(reference: Int64, room: RoomName, before: Int64, limit: Int64) {
            (self.reference, self.room, self.before, self.limit) = (reference, room, before, limit)
        }
    }
}
