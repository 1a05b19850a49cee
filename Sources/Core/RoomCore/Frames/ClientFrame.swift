/// A frame from a client to a hub.
package enum ClientFrame: Hashable, Sendable {
    /// The first frame.
    case hello(Hello)
    /// Sends a new token.
    case auth(token: String)
    /// Joins a room, or catches up in it.
    case join(Join)
    /// Leaves a room.
    case leave(RoomName)
    /// Publishes a message.
    case publish(RoomName, Publication)
    /// Reports how far the user has read.
    case read(RoomName, upTo: Int64)
    /// Asks for older entries.
    case history(History)
    /// Sets the presence of the connection in a room.
    case presence(RoomName, Presence)
    /// Asks for all present members.
    case members(RoomName)
    /// Reports whether the user types.
    case typing(RoomName, Bool)
    /// Sends a signal, which is not stored.
    case signal(RoomName, Signal)
    /// Asks for a `pong`.
    case ping(Int64)

    /// The first frame: identifies the client and resumes its rooms.
    package struct Hello: Hashable, Sendable {
        /// The protocol versions that the client supports.
        package var versions: [Int64]
        /// The device ID of the client's store.
        package var device: DeviceID
        /// The token that authenticates the user.
        package var token: String?
        /// The name of the client program, for logs; at most 128 bytes.
        package var agent: String?
        /// The rooms that the client resumes.
        package var joins: [Join]

        /// Creates a client's first frame.
        package init(versions: [Int64], device: DeviceID, token: String?, agent: String? = nil, joins: [Join] = []) {
            (self.versions, self.device, self.token, self.agent, self.joins) = (versions, device, token, agent, joins)
        }
    }

    /// A request to join a room, or to catch up in it.
    package struct Join: Hashable, Sendable {
        /// The room.
        package var room: RoomName
        /// The position of the last stored entry, or ``LogPosition/nowhere``.
        ///
        /// Epoch 0 with a negative number requests that many of the last entries.
        package var cursor: LogPosition
        /// The maximum number of missed entries to get instead of a snapshot; 0: as many as the hub gives.
        package var limit: Int64
        /// Whether the client wants to see who is present, and to be present itself.
        package var wantsPresence: Bool
        /// The number of the client's next message.
        package var next: Int64
        /// The proof of the last entry; nil if the client has none.
        package var proof: CursorProof?

        /// Creates a join request.
        package init(
            room: RoomName, cursor: LogPosition = .nowhere, limit: Int64 = 0, wantsPresence: Bool = false, next: Int64 = 1,
            proof: CursorProof? = nil
        ) {
            (self.room, self.cursor, self.limit, self.wantsPresence) = (room, cursor, limit, wantsPresence)
            (self.next, self.proof) = (next, proof)
        }
    }

    /// A request for older entries.
    package struct History: Hashable, Sendable {
        /// The client's reference number for the request.
        package var reference: Int64
        /// The room.
        package var room: RoomName
        /// The number below which entries are requested.
        package var before: Int64
        /// The maximum number of entries.
        package var limit: Int64

        /// Creates a history request.
        package init(reference: Int64, room: RoomName, before: Int64, limit: Int64) {
            (self.reference, self.room, self.before, self.limit) = (reference, room, before, limit)
        }
    }
}
