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
