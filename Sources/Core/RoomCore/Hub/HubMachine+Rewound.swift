import MachineCore

// "A log that went back": a cursor shows it, and the room gets a new epoch before anything else is written in it.
extension HubMachine {
    /// Draws a new epoch for a room, whose log has gone back.
    mutating func renew(_ name: RoomName, into effects: inout [HubEffect]) {
        guard let room = rooms[name], !room.isRewound else { return }
        rooms[name]?.isRewound = true
        counts.rewound += 1
        effects.append(.rewound(LogPosition(epoch: room.epoch, seq: room.head), in: name))
        drawEpoch(for: name, into: &effects)
    }

    /// Has a new epoch written, once nothing else of the room is on its way to disk.
    mutating func drawEpoch(for name: RoomName, into effects: inout [HubEffect]) {
        guard let room = rooms[name], room.isRewound, room.phase == .open, room.sequencer.isIdle else { return }
        rooms[name]?.phase = .opening
        effects.append(.log(.renew(name)))
    }
}

extension HubMachine.Room {
    /// What the proof of a cursor says of the log.
    enum Evidence: Equatable, Sendable {
        /// Nothing against it.
        case nothing
        /// The log had another entry there, or ended further on.
        case rewound
        /// It is to be held against the entry there, which is not in memory.
        case unread
    }

    /// Holds the proof of a cursor against the log: what no key of ours has made says nothing.
    ///
    /// - Parameter entry: The entry at the cursor, if that was read.
    func evidence(of join: ClientFrame.Join, _ key: ProofKey?, _ entry: Entry? = nil) -> Evidence {
        let cursor = join.cursor
        guard cursor.epoch == epoch, cursor.seq > 0, let key, let proof = join.proof, key.hasMade(proof, for: cursor, in: join.room) else {
            return .nothing
        }
        if cursor.seq > head { return .rewound }
        guard let stamp = entry.map(EntryStamp.init) ?? stamp(of: cursor.seq) else {
            // Below the base there is nothing to be read.
            return cursor.seq < base ? .nothing : .unread
        }
        return key.proof(of: stamp, at: cursor, in: join.room) == proof ? .nothing : .rewound
    }
}

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
