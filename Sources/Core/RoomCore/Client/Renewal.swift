import MachineCore

/// A new device is being taken, because the store or the hub's log has gone back in time.
///
/// Before that, the fate of each message under its old number is found out: a void with a name of its own is sent in its place. The ack says
/// what the hub has under the number: the message, another one, or the void, and then nothing behind it either. So a message is numbered
/// anew only if the hub does not have it, and never will. That a state's `high` is a fence is not enough here: it says nothing of what
/// was sent on the present connection, where the need for a new device may show.
struct Renewal: Hashable, Sendable {
    /// The name of the voids.
    let barrier: MessageID
    /// Until when the fates are waited for, while there is a hub.
    var deadline: Moment?
}

extension RoomsMachine {
    /// Begins to take a new device.
    mutating func demandRenewal(at now: Moment, into effects: inout [RoomsEffect]) {
        guard renewal == nil, !ledger.pending.contains(where: \.isRenewal) else { return }
        renewal = Renewal(barrier: MessageID(at: clock.now(at: now) ?? 0, using: &generator))
        awaitSettling(at: now)
        // The new outbox replaces all there is, in all rooms.
        for room in sleepers.sorted() where places[room] == nil { _ = seat(room, JoinWish(), isWanted: false) }
        for place in seats.indices {
            seats[place].outbox.rewind()
            (seats[place].holdUntil, seats[place].resendAt) = (nil, nil)
            if seats[place].isWanted {
                pump(place, at: now, into: &effects)
            } else if seats[place].store == .ready {
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

    /// Nobody will ask the hub about the messages of a room that is not wanted.
    mutating func abandon(_ place: Int) { seats[place].outbox.settle(from: .min, .uncertain) }

    /// Takes the new device if nothing more is to be found out.
    mutating func settleIfKnown(at now: Moment, into effects: inout [RoomsEffect]) {
        guard renewal != nil, let old = device, seats.allSatisfy({ $0.store == .ready && $0.outbox.isSettled }) else { return }
        renewal = nil
        let device = DeviceID(using: &generator)
        self.device = device
        let number = ledger.next
        var (rows, news): ([OutboxRow], [RoomsNews]) = ([], [.renewed(device)])
        for place in seats.indices.sorted(by: { seats[$0].room < seats[$1].room }) {
            let room = seats[place].room
            let (renewed, uncertain) = seats[place].outbox.renewed(room: room, commit: number)
            rows += renewed
            news += uncertain.map { .failed(room, $0, .uncertain) }
        }
        let commit = CommitLedger.Pending(
            number: number, rooms: seats.map(\.room), news: news, regrets: [.notRenewed(old)], isRenewal: true)
        // Acks of this connection speak of the old numbers.
        if link.listens { drop(at: now, into: &effects) }
        order(commit, [.renew(device, outbox: rows)], into: &effects)
    }

    /// The new device, or still the old one, is known to be on disk.
    mutating func meetAgain(after milliseconds: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        switch link.phase {
        case .holding(let token): greet(token: token, at: now, into: &effects)
        case .ended: effects.append(.reconnect(after: milliseconds))
        case .offline, .greeting, .welcomed, .draining: break
        }
        for room in seats.map(\.room) { removeIfDone(room) }
        for place in seats.indices where seats[place].store == .due { load(place, into: &effects) }
    }
}

extension Outbox {
    /// Numbers everything from 1, for a new device; also the names of those that nobody knows whether they were stored.
    mutating func renewed(room: RoomName, commit: Int64) -> (rows: [OutboxRow], uncertain: [MessageID]) {
        let old = self
        self = Outbox()
        var uncertain: [MessageID] = []
        // A failed one takes a number like any other, and burns it.
        let failures = old.failed.map { row in
            var state = row.state
            if case .failed(let failure) = row.state { state = .burning(failure) }
            return Row(publication: row.publication, state: state, commit: commit, isTold: true)
        }
        var rows: [OutboxRow] = []
        for old in (failures + old.rows).sorted(by: { $0.publication.cseq < $1.publication.cseq }) {
            var row = old
            if row.fate == .uncertain, row.mayBeStored {
                (row.state, row.isTold) = (.burning(.uncertain), true)
                uncertain.append(row.publication.id)
            }
            (row.publication.cseq, row.commit, row.fate, row.isInFlight) = (next, commit, .unknown, false)
            take(row)
            rows.append(OutboxRow(room: room, publication: row.publication, state: row.state))
        }
        return (rows, uncertain)
    }
}
