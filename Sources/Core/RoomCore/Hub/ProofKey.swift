/// The key with which a hub proves cursors: drawn once, and kept with the log.
package struct ProofKey: Hashable, Sendable {
    private let key: Bits128

    package init(_ key: Bits128) { self.key = key }

    /// What a proof says.
    private enum Part: UInt64 {
        /// Which entry it is of, without naming it.
        case entry = 1
        /// That this key has made it for this place.
        case seal = 2
    }

    /// The proof that an entry stands at a place.
    package func proof(of id: MessageID, at place: LogPosition, in room: RoomName) -> CursorProof {
        let entry = hash(.entry, place, room, id.bits)
        return CursorProof(Bits128(high: entry, low: seal(entry, place, room)))
    }

    /// Whether a proof was made with this key for this place, of whatever entry.
    func hasMade(_ proof: CursorProof, for place: LogPosition, in room: RoomName) -> Bool {
        proof.bits.low == seal(proof.bits.high, place, room)
    }

    private func seal(_ entry: UInt64, _ place: LogPosition, _ room: RoomName) -> UInt64 {
        hash(.seal, place, room, Bits128(high: entry, low: 0))
    }

    private func hash(_ part: Part, _ place: LogPosition, _ room: RoomName, _ bits: Bits128) -> UInt64 {
        var hash = SipHash(key: key)
        hash.combine(part.rawValue)
        hash.combine(place.epoch)
        hash.combine(UInt64(bitPattern: place.seq))
        hash.combine(bits.high)
        hash.combine(bits.low)
        for byte in room.text.utf8 { hash.combine(byte) }
        return hash.finish()
    }
}
