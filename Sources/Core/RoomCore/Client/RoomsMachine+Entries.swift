import MachineCore
import ProtocolCore

/// What comes into a room: states, entries, gaps.
extension RoomsMachine {
    mutating func take(_ state: HubFrame.RoomState, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(state.room), seats[place].store == .ready else { return }
        var wasAsked = false
        if case .asked = seats[place].standing { wasAsked = true }
        let reads = state.rights.contains(.read)
        guard state.epoch != 0, wasAsked || !state.isSnapshot, (0..<RoomsLimits.number).contains(state.high),
            !reads || seats[place].inbox.fits(state)
        else {
            if wasAsked { answered(place, at: now, into: &effects) }
            nonsense(place, at: now, into: &effects)
            return joinNext(at: now, into: &effects)
        }
        answered(place, at: now, into: &effects)
        let isFirst = !seats[place].isAttached
        seats[place].isAttached = true
        (seats[place].putOffs, seats[place].epoch) = (0, state.epoch)
        (seats[place].head, seats[place].base, seats[place].rights) = (max(state.head, 0), state.base, state.rights)
        seats[place].high = isFirst ? state.high : max(seats[place].high, state.high)
        if reads { store(state, at: place, now, into: &effects) }
        guard seats[place].isAttached else { return }
        heardRead(state.room, state.reads, into: &effects)
        catchUpReading(place, into: &effects)
        if state.hasMore, reads {
            seats[place].standing = .behind
            tell(.catchingUp(head: state.head), of: place, into: &effects)
        } else {
            seats[place].standing = .live
            tellLive(place, into: &effects)
        }
        if isFirst, seats[place].wish.wantsPresence, state.rights.contains(.presence) {
            effects.append(.send(.presence(state.room, seats[place].wish.presence)))
        }
        judge(high: state.high, id: state.highID, of: place, at: now, into: &effects)
        guard seats[place].isAttached else { return }
        pump(place, at: now, into: &effects)
        goOn(place, at: now, into: &effects)
        fillUp(place, at: now, into: &effects)
        joinNext(at: now, into: &effects)
    }

    private mutating func tellLive(_ place: Int, into effects: inout [RoomsEffect]) {
        let phase = RoomPhase.live(head: seats[place].head, rights: seats[place].rights)
        guard seats[place].told != phase else { return }
        seats[place].told = phase
        tellOnceWritten(.phase(seats[place].room, phase), of: place, into: &effects)
    }

    /// Orders what a state brings to be written.
    private mutating func store(_ state: HubFrame.RoomState, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]) {
        guard state.isSnapshot else { return write(state.items, epoch: state.epoch, state.proof, at: place, now, into: &effects) }
        let room = state.room
        let before = seats[place].inbox.cursor
        let isNew = before == .nowhere
        let items = isNew && seats[place].wish.start == .now ? [] : state.items
        // A log that went back has other entries under the same numbers.
        if before.epoch != state.epoch || state.to < before.seq { (seats[place].read, seats[place].reads) = (0, [:]) }
        seats[place].inbox.replace(epoch: state.epoch, to: state.to, count: items.count, proof: state.proof)
        seats[place].fillsUp = isNew && seats[place].wish.start == .beginning
        let cursor = seats[place].inbox.cursor
        let proof = prove(state.items, at: place, now)
        let commit = pending(room, news: [.replaced(room, cursor, items)] + proof.stored, entries: items[...])
        order(commit, [.replace(room, cursor: cursor, items)] + shown(place) + proof.removed, into: &effects)
        judge(proof, at: now, into: &effects)
    }

    /// The proof of a cursor that moves, which is written with it.
    private func shown(_ place: Int) -> [StoreChange] { seats[place].inbox.proof.map { [.prove(seats[place].room, $0)] } ?? [] }

    mutating func take(
        _ items: [Entry], epoch: UInt64, _ proof: CursorProof?, in room: RoomName, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = wanted(room), seats[place].store == .ready, seats[place].standing == .live,
            seats[place].rights.contains(.read)
        else { return }
        guard seats[place].unwrittenEntries < policy.unwrittenEntries, seats[place].unwrittenBytes < policy.unwrittenBytes else {
            // The store is too slow: the hub has them for us.
            return seats[place].standing = .behind
        }
        write(items, epoch: epoch, proof, at: place, now, into: &effects)
        pump(place, at: now, into: &effects)
    }

    private mutating func write(
        _ items: [Entry], epoch: UInt64, _ proof: CursorProof?, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]
    ) {
        let room = seats[place].room
        let (taken, isAstray) = seats[place].inbox.take(items, epoch: epoch, proof: proof)
        if let last = taken.last {
            seats[place].head = max(seats[place].head, last.seq)
            let proof = prove(taken, at: place, now)
            let commit = pending(room, news: [.appended(room, epoch: epoch, taken)] + proof.stored, entries: taken[...])
            order(commit, [.append(room, epoch: epoch, taken)] + shown(place) + proof.removed, into: &effects)
            judge(proof, at: now, into: &effects)
            endTyping(of: taken, at: place, into: &effects)
        }
        if isAstray, link.listens { nonsense(place, at: now, into: &effects) }
    }

    /// What entries say about the outbox.
    private struct Proof {
        var removed: [StoreChange] = []
        var stored: [RoomsNews] = []
        /// Whether another life of this store has published under our numbers.
        var isForeign = false
    }

    /// Does what follows from a proof, once its removals are ordered: a new outbox must not come before them.
    private mutating func judge(_ proof: Proof, at now: Moment, into effects: inout [RoomsEffect]) {
        if proof.isForeign { demandRenewal(at: now, into: &effects) }
        if !proof.removed.isEmpty { settleIfKnown(at: now, into: &effects) }
    }

    /// Which messages of the outbox these entries prove stored.
    private mutating func prove(_ items: [Entry], at place: Int, _ now: Moment) -> Proof {
        let room = seats[place].room
        var proof = Proof()
        for entry in items {
            let position = LogPosition(epoch: seats[place].inbox.cursor.epoch, seq: entry.seq)
            if entry.device == device {
                seats[place].high = max(seats[place].high, min(entry.cseq, RoomsLimits.number))
                if entry.cseq >= seats[place].outbox.next { proof.isForeign = true }
                guard let row = seats[place].outbox[entry.cseq] else { continue }
                guard row.publication.id == entry.id else {
                    proof.isForeign = true
                    continue
                }
                seats[place].outbox.remove(entry.cseq)
                proof.removed.append(.remove(room, cseq: entry.cseq))
                proof.stored.append(.stored(room, entry.id, position))
            } else if !seats[place].outbox.failed.isEmpty, entry.user == link.user,
                let (row, failure) = seats[place].outbox.failure(of: entry.id), failure == .uncertain
            {
                seats[place].outbox.removeFailed(entry.id)
                proof.removed.append(.remove(room, cseq: row.publication.cseq))
                proof.stored.append(.stored(room, entry.id, position))
            }
        }
        if !proof.stored.isEmpty { progress(place, at: now) }
        return proof
    }

    mutating func lag(_ room: RoomName, head: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), seats[place].store == .ready, seats[place].standing == .live else { return }
        seats[place].head = max(seats[place].head, min(head, RoomsLimits.number))
        seats[place].standing = .behind
        tell(.catchingUp(head: seats[place].head), of: place, into: &effects)
        goOn(place, at: now, into: &effects)
    }
}
