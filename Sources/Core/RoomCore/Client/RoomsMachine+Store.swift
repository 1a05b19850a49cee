import MachineCore
import ProtocolCore

/// What is read from the store and written to it.
extension RoomsMachine {
    /// Reads a room, once nothing that was ordered for it waits to be written.
    mutating func load(_ place: Int, into effects: inout [RoomsEffect]) {
        guard seats[place].isWanted || renewal != nil else { return }
        tell(.loading, of: place, into: &effects)
        // A new device numbers all rooms anew: until it is known whether that is on disk, nothing that is read is sure.
        guard seats[place].store == .due, seats[place].unwritten == 0, !ledger.pending.contains(where: \.isRenewal) else { return }
        seats[place].store = .loading
        seats[place].loads += 1
        effects.append(.load(seats[place].room))
    }

    /// The place of a room whose last reading this answers.
    private mutating func answeredLoad(_ room: RoomName) -> Int? {
        guard let place = places[room], seats[place].loads > 0 else { return nil }
        seats[place].loads -= 1
        if seats[place].loads == 0, seats[place].store == .loading { return place }
        removeIfDone(room)
        return nil
    }

    mutating func loaded(_ room: RoomName, _ stored: StoredRoom, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = answeredLoad(room) else { return }
        // Something was ordered meanwhile, so this may be the room before or after it.
        guard seats[place].unwritten == 0 else { return seats[place].store = .due }
        guard seats[place].isWanted || renewal != nil else {
            seats[place].store = .due
            return removeIfDone(room)
        }
        seats[place].store = .ready
        seats[place].inbox = Inbox(cursor: stored.cursor, first: stored.first, proof: stored.proof)
        seats[place].outbox = Outbox(stored: stored.outbox, next: stored.next)
        (seats[place].read, seats[place].fillsUp) = (stored.read, false)
        seats[place].told = nil
        if !seats[place].isWanted { abandon(place) }
        giveUpTooLong(place, into: &effects)
        let held = seats[place].held
        (seats[place].held, seats[place].heldBytes) = ([], 0)
        for act in held { self.act(act, in: room, at: now, into: &effects) }
        enter(place, at: now, into: &effects)
        settleIfKnown(at: now, into: &effects)
    }

    mutating func notLoaded(_ room: RoomName, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = answeredLoad(room) else { return }
        rest(place, full: false, at: now, into: &effects)
        storeFailures += 1
        effects.append(.news(.storeFailed(full: false)))
        removeIfDone(room)
    }

    /// Leaves a room alone for a while; then it is read again.
    private mutating func rest(_ place: Int, full: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        let until = now + Backoff(base: policy.storePause, cap: .seconds(30)).ceiling(attempt: storeFailures + 1)
        if link.listens { answered(place, at: now, into: &effects) }
        seats[place].detach()
        seats[place].outbox = Outbox()
        seats[place].store = .resting(until: until, full: full)
        remind(at: until)
        refuseHeld(place, .store(full: full), into: &effects)
        tell(.loading, of: place, into: &effects)
        joinNext(at: now, into: &effects)
    }

    private mutating func forget(_ commits: [CommitLedger.Pending]) {
        for commit in commits {
            for room in commit.rooms {
                guard let place = places[room] else { continue }
                seats[place].unwritten -= 1
                seats[place].unwrittenEntries -= commit.entries
                seats[place].unwrittenBytes -= commit.bytes
            }
        }
    }

    mutating func committed(_ number: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        let commits = ledger.commit(upTo: number)
        guard !commits.isEmpty else { return }
        storeFailures = 0
        forget(commits)
        for commit in commits { effects += commit.news.map { .news($0) } }
        if commits.contains(where: \.isRenewal) { meetAgain(after: 0, at: now, into: &effects) }
        for commit in commits {
            for room in commit.rooms {
                guard let place = places[room] else { continue }
                guard seats[place].isWanted || renewal != nil else {
                    removeIfDone(room)
                    continue
                }
                pump(place, at: now, into: &effects)
                goOn(place, at: now, into: &effects)
                fillUp(place, at: now, into: &effects)
            }
        }
    }

    mutating func notCommitted(_ number: Int64, full: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        let commits = ledger.void(from: number)
        guard !commits.isEmpty else { return }
        forget(commits)
        for regret in commits.flatMap(\.regrets) {
            switch regret {
            case .notQueued(let room, let id): effects.append(.news(.refused(room, id, .store(full: full))))
            case .noPage(let room, let reference): effects.append(.news(.noPage(room, reference: reference, nil)))
            case .stillFailed(let room, let id, let failure): effects.append(.news(.failed(room, id, failure)))
            case .notRenewed(let old): device = old
            }
        }
        effects.append(.news(.storeFailed(full: full)))
        var seen: Set<RoomName> = []
        for room in commits.flatMap(\.rooms) where seen.insert(room).inserted {
            guard let place = places[room] else { continue }
            rest(place, full: full, at: now, into: &effects)
            removeIfDone(room)
        }
        storeFailures += 1
        if commits.contains(where: \.isRenewal) { meetAgain(after: policy.storePause.wholeMilliseconds, at: now, into: &effects) }
    }
}
