import MachineCore

/// The pending change to a new device ID, because the store or the hub's log has gone back in time.
///
/// Before the change, the client finds out what the hub has under the old number of each message. It sends a void with an ID of its own
/// in place of the message. The ack tells whether the hub has the message, another one, or the void under the number. If it is the void,
/// the hub has nothing under later numbers either. So a message gets a new number only if the hub does not have it and never will. The
/// `high` of a state is not enough: it says nothing about messages sent on the current connection, and the need for a new device ID may
/// arise there.
struct Renewal: Hashable, Sendable {
    /// The ID of the voids.
    let barrier: MessageID
    /// Until when the client waits for the outcomes, while it is connected.
    var deadline: Moment?
}

extension RoomsMachine {
    /// Begins the change to a new device ID.
    mutating func demandRenewal(at now: Moment, into effects: inout [RoomsEffect]) {
        guard renewal == nil, !commits.pending.contains(where: \.isRenewal) else { return }
        renewal = Renewal(barrier: MessageID(at: clock.now(at: now) ?? 0, using: &generator))
        awaitSettling(at: now)
        // The new outbox replaces the existing one in all rooms.
        for room in sleepers.sorted() where places[room] == nil { _ = clientRoom(room, JoinRequest(), isWanted: false) }
        for place in clientRooms.indices {
            clientRooms[place].outbox.rewind()
            (clientRooms[place].holdUntil, clientRooms[place].resendAt) = (nil, nil)
            if clientRooms[place].isWanted {
                pump(place, at: now, into: &effects)
            } else if clientRooms[place].store == .ready {
                abandon(place)
            } else {
                load(place, into: &effects)
            }
        }
        settleIfKnown(at: now, into: &effects)
    }

    mutating func awaitSettling(at now: Moment) {
        guard renewal != nil, link.isUp else { return }
        renewal?.deadline = now + policy.settling
        remind(at: now + policy.settling)
    }

    /// Settles the messages of a room that is not joined as uncertain, because the client cannot ask the hub about them.
    mutating func abandon(_ place: Int) { clientRooms[place].outbox.settle(from: .min, .uncertain) }

    /// Takes the new device ID if all outcomes are known.
    mutating func settleIfKnown(at now: Moment, into effects: inout [RoomsEffect]) {
        guard renewal != nil, let old = device, clientRooms.allSatisfy({ $0.store == .ready && $0.outbox.isSettled }) else { return }
        renewal = nil
        let device = DeviceID(using: &generator)
        self.device = device
        let number = commits.next
        var (rows, news): ([OutboxRow], [RoomsNews]) = ([], [.renewed(device)])
        for place in clientRooms.indices.sorted(by: { clientRooms[$0].room < clientRooms[$1].room }) {
            let room = clientRooms[place].room
            let (renewed, uncertain) = clientRooms[place].outbox.renewed(room: room, commit: number)
            rows += renewed
            news += uncertain.map { .failed(room, $0, .uncertain) }
        }
        let commit = CommitQueue.Pending(
            number: number, rooms: clientRooms.map(\.room), news: news, undos: [.notRenewed(old)], isRenewal: true)
        // Acks on this connection refer to the old numbers.
        if link.listens { drop(at: now, into: &effects) }
        order(commit, [.renew(device, outbox: rows)], into: &effects)
    }

    /// Continues after the new device ID, or still the old one, is known to be on disk.
    mutating func meetAgain(after milliseconds: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        switch link.phase {
        case .holding(let token): greet(token: token, at: now, into: &effects)
        case .ended: effects.append(.reconnect(after: milliseconds))
        case .offline, .greeting, .welcomed, .draining: break
        }
        for room in clientRooms.map(\.room) { removeIfDone(room) }
        for place in clientRooms.indices where clientRooms[place].store == .due { load(place, into: &effects) }
    }
}

extension RoomOutbox {
    /// Numbers all messages from 1 for a new device ID; returns the rows and the IDs of messages that may have been stored.
    mutating func renewed(room: RoomName, commit: Int64) -> (rows: [OutboxRow], uncertain: [MessageID]) {
        let old = self
        self = RoomOutbox()
        var uncertain: [MessageID] = []
        // A failed message also takes a number, which is voided.
        let failures = old.failed.map { row in
            var state = row.state
            if case .failed(let failure) = row.state { state = .voiding(failure) }
            return Row(publication: row.publication, state: state, commit: commit, isTold: true)
        }
        var rows: [OutboxRow] = []
        for old in (failures + old.rows).sorted(by: { $0.publication.cseq < $1.publication.cseq }) {
            var row = old
            if row.verdict == .uncertain, row.mayBeStored {
                (row.state, row.isTold) = (.voiding(.uncertain), true)
                uncertain.append(row.publication.id)
            }
            (row.publication.cseq, row.commit, row.verdict, row.isInFlight) = (next, commit, .unknown, false)
            take(row)
            rows.append(OutboxRow(room: room, publication: row.publication, state: row.state))
        }
        return (rows, uncertain)
    }
}
