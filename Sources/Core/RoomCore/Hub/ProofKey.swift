/// The key with which a hub proves cursors: drawn once, and kept with the log.
package struct ProofKey: Hashable, Sendable {
    private let key: Bits128

    package init(_ key: Bits128) { self.key = key }

    /// What a proof says.
    private enum Part: UInt64 {
        /// Which entry it is of, without naming it.
        case entry = 1
        /// That this key has made it for this place.
        ///
        /// 2 is that of proofs that say no more of the entry than its name: they count as those of another key.
        case seal = 3
    }

    /// The proof that an entry stands at a place.
    package func proof(of stamp: EntryStamp, at place: LogPosition, in room: RoomName) -> CursorProof {
        var hash = begin(.entry, place)
        hash.combine(stamp.id.bits.high)
        hash.combine(stamp.id.bits.low)
        hash.combine(stamp.device.bits.high)
        hash.combine(stamp.device.bits.low)
        hash.combine(UInt64(bitPattern: stamp.cseq))
        hash.combine(UInt64(bitPattern: stamp.at))
        let entry = end(&hash, room)
        return CursorProof(Bits128(high: entry, low: seal(entry, place, room)))
    }

    /// Whether a proof was made with this key for this place, of whatever entry.
    func hasMade(_ proof: CursorProof, for place: LogPosition, in room: RoomName) -> Bool {
        proof.bits.low == seal(proof.bits.high, place, room)
    }

    private func seal(_ entry: UInt64, _ place: LogPosition, _ room: RoomName) -> UInt64 {
        var hash = begin(.seal, place)
        hash.combine(entry)
        return end(&hash, room)
    }

    private func begin(_ part: Part, _ place: LogPosition) -> SipHash {
        var hash = SipHash(key: key)
        hash.combine(part.rawValue)
        hash.combine(place.epoch)
        hash.combine(UInt64(bitPattern: place.seq))
        return hash
    }

    private func end(_ hash: inout SipHash, _ room: RoomName) -> UInt64 {
        for byte in room.text.utf8 { hash.combine(byte) }
        return hash.finish()
    }
}
