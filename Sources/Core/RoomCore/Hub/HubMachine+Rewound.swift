import MachineCore

// "A log that went back": a cursor reveals it, and the room gets a new epoch before the next write.
extension HubMachine {
    /// Starts a new epoch for a room whose log has gone back.
    mutating func renew(_ name: RoomName, into effects: inout [HubEffect]) {
        guard let room = rooms[name], !room.isRewound else { return }
        rooms[name]?.isRewound = true
        counts.rewound += 1
        effects.append(.rewound(LogPosition(epoch: room.epoch, seq: room.head), in: name))
        drawEpoch(for: name, into: &effects)
    }

    /// Orders a new epoch once no write of the room is pending.
    mutating func drawEpoch(for name: RoomName, into effects: inout [HubEffect]) {
        guard let room = rooms[name], room.isRewound, room.phase == .open, room.sequencer.isIdle else { return }
        rooms[name]?.phase = .opening
        effects.append(.log(.renew(name)))
    }
}

extension HubMachine.Room {
    /// What the proof of a cursor shows about the log.
    enum Evidence: Equatable, Sendable {
        /// No sign that the log has gone back.
        case nothing
        /// The log had another entry there, or was longer.
        case rewound
        /// The proof must be compared with the entry, which is not in memory.
        case unread
    }

    /// Compares the proof of a cursor with the log; a proof that this key did not make is ignored.
    ///
    /// - Parameter entry: The entry at the cursor, if it was read.
    func evidence(of join: ClientFrame.Join, _ key: ProofKey?, _ entry: Entry? = nil) -> Evidence {
        let cursor = join.cursor
        guard cursor.epoch == epoch, cursor.seq > 0, let key, let proof = join.proof, key.hasMade(proof, for: cursor, in: join.room) else {
            return .nothing
        }
        if cursor.seq > head { return .rewound }
        guard let stamp = entry.map(EntryStamp.init) ?? stamp(of: cursor.seq) else {
            // There are no entries below the base.
            return cursor.seq < base ? .nothing : .unread
        }
        return key.proof(of: stamp, at: cursor, in: join.room) == proof ? .nothing : .rewound
    }
}

/// The key with which a hub proves cursors; created once and stored with the log.
package struct ProofKey: Hashable, Sendable {
    private let key: Bits128

    package init(_ key: Bits128) { self.key = key }

    /// The parts of a proof.
    private enum Part: UInt64 {
        /// Identifies the entry without revealing it.
        case entry = 1
        /// Shows that this key made the proof for this position.
        ///
        /// The value 2 belongs to older proofs that cover only the entry's ID; they count as proofs of another key.
        case seal = 3
    }

    /// Returns the proof that an entry is at a position.
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

    /// Returns whether this key made a proof for this position, for any entry.
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
