/// What names a publication: read as far as it can be where the rest of its frame cannot, so that the hub refuses it alone.
package struct PublicationEnvelope: Hashable, Sendable {
    /// Where it goes.
    package var room: RoomName
    /// Its number among the device's messages to the room.
    package var cseq: Int64

    /// The envelope of a publication; nil if the number is none.
    package init?(room: RoomName, cseq: Int64) {
        guard (1...RoomsLimits.number).contains(cseq) else { return nil }
        (self.room, self.cseq) = (room, cseq)
    }

    /// Reads the envelope of a frame `pub` from JSON.
    ///
    /// Nil if nobody can tell what it is, for which room, or under which number. What stands behind a break is not looked at.
    package init?(json bytes: UnsafeRawBufferPointer) {
        var reader = unsafe FrameReader(bytes)
        var (isPublication, room, cseq): (Bool, RoomName?, Int64?) = (false, nil, nil)
        do throws(FrameError) {
            var object = try reader.object()
            while let key = try reader.key(of: &object) {
                var field = reader
                try reader.pass()
                switch key {
                case "t": isPublication = (try? field.word("t")) == "pub"
                case "room": room = try? field.room()
                case "cseq": cseq = try? field.number("cseq", from: 1)
                default: break
                }
            }
        } catch {}
        guard isPublication, let room, let cseq else { return nil }
        self.init(room: room, cseq: cseq)
    }
}
