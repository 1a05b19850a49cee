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

/// The identification of a publication.
///
/// It is read even if the rest of the frame is invalid, so that the hub can refuse only this publication.
package struct PublicationEnvelope: Hashable, Sendable {
    /// The room of the publication.
    package var room: RoomName
    /// Its number among the device's messages to the room.
    package var cseq: Int64

    /// Creates an envelope; nil if the number is not valid.
    package init?(room: RoomName, cseq: Int64) {
        guard (1..<RoomsLimits.number).contains(cseq) else { return nil }
        (self.room, self.cseq) = (room, cseq)
    }

    /// Reads the envelope of a `pub` frame from JSON.
    ///
    /// Returns nil if the type, the room or the number cannot be read. The text after a JSON error is ignored.
    package init?(json bytes: UnsafeRawBufferPointer) {
        let names = unsafe FrameNames(json: bytes)
        guard names.kind == .publication, let room = names.room, let cseq = names.cseq else { return nil }
        self.init(room: room, cseq: cseq)
    }
}

/// The identification of an ephemeral frame: presence, typing, or a signal.
///
/// If the rest of the frame is invalid, the hub refuses only this frame, because no client waits for an answer.
package struct EphemeralEnvelope: Hashable, Sendable {
    /// The room of the frame.
    package var room: RoomName

    /// Creates the envelope of a frame to a room.
    package init(room: RoomName) { self.room = room }

    /// Reads the envelope of a `pres`, `typ` or `sig` frame from JSON.
    ///
    /// Returns nil if the type or the room cannot be read. The text after a JSON error is ignored.
    package init?(json bytes: UnsafeRawBufferPointer) {
        let names = unsafe FrameNames(json: bytes)
        guard names.kind == .ephemeral, let room = names.room else { return nil }
        self.room = room
    }
}

/// The fields that identify a frame, as far as its JSON is valid.
private struct FrameNames {
    enum Kind { case publication, ephemeral, other }
    var kind = Kind.other
    var room: RoomName?
    var cseq: Int64?

    init(json bytes: UnsafeRawBufferPointer) {
        var reader = unsafe FrameReader(bytes)
        do throws(FrameError) {
            var object = try reader.object()
            while let key = try reader.key(of: &object) {
                var field = reader
                try reader.pass()
                switch key {
                case "t":
                    let type = try? field.word("t")
                    kind = type == "pub" ? .publication : type == "pres" || type == "typ" || type == "sig" ? .ephemeral : .other
                case "room": room = try? field.room()
                case "cseq": cseq = try? field.number("cseq", from: 1)
                default: break
                }
            }
        } catch {}
    }
}
