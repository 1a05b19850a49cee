/// What names a publication: read as far as it can be where the rest of its frame cannot, so that the hub refuses it alone.
package struct PublicationEnvelope: Hashable, Sendable {
    /// Where it goes.
    package var room: RoomName
    /// Its number among the device's messages to the room.
    package var cseq: Int64

    /// The envelope of a publication; nil if the number is none.
    package init?(room: RoomName, cseq: Int64) {
        guard (1..<RoomsLimits.number).contains(cseq) else { return nil }
        (self.room, self.cseq) = (room, cseq)
    }

    /// Reads the envelope of a frame `pub` from JSON.
    ///
    /// Nil if nobody can tell what it is, for which room, or under which number. What stands behind a break is not looked at.
    package init?(json bytes: UnsafeRawBufferPointer) {
        let names = unsafe FrameNames(json: bytes)
        guard names.kind == .publication, let room = names.room, let cseq = names.cseq else { return nil }
        self.init(room: room, cseq: cseq)
    }
}

/// What names a frame of which nothing is stored: presence, typing, or a signal.
///
/// Nobody waits for it, so the hub refuses it alone where the rest of it cannot be read.
package struct EphemeralEnvelope: Hashable, Sendable {
    /// Where it goes.
    package var room: RoomName

    /// The envelope of what goes to a room.
    package init(room: RoomName) { self.room = room }

    /// Reads the envelope of a frame `pres`, `typ` or `sig` from JSON.
    ///
    /// Nil if nobody can tell what it is, or for which room. What stands behind a break is not looked at.
    package init?(json bytes: UnsafeRawBufferPointer) {
        let names = unsafe FrameNames(json: bytes)
        guard names.kind == .ephemeral, let room = names.room else { return nil }
        self.room = room
    }
}

/// What of a frame says what it is, as far as its text makes sense.
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
