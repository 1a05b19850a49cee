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
