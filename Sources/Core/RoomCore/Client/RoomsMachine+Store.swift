import MachineCore
import ProtocolCore

/// Reading from the store and writing to it.
extension RoomsMachine {
    /// Loads a room from the store, once no ordered write for it is pending.
    mutating func load(_ place: Int, into effects: inout [RoomsEffect]) {
        guard clientRooms[place].isWanted || renewal != nil else { return }
        notify(.loading, of: place, into: &effects)
        // A new device ID changes the numbers in all rooms. Until it is known whether it is on disk, loaded data is unreliable.
        guard clientRooms[place].store == .due, clientRooms[place].unwritten == 0, !commits.pending.contains(where: \.isRenewal) else {
            return
        }
        clientRooms[place].store = .loading
        clientRooms[place].loads += 1
        effects.append(.load(clientRooms[place].room))
    }

    /// Returns the place of a room if this answers its last load.
    private mutating func answeredLoad(_ room: RoomName) -> Int? {
        guard let place = places[room], clientRooms[place].loads > 0 else { return nil }
        clientRooms[place].loads -= 1
        if clientRooms[place].loads == 0, clientRooms[place].store == .loading { return place }
        removeIfDone(room)
        return nil
    }

    mutating func loaded(_ room: RoomName, _ stored: StoredRoom, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = answeredLoad(room) else { return }
        // A write was ordered meanwhile, so this may be the state before or after it.
        guard clientRooms[place].unwritten == 0 else { return clientRooms[place].store = .due }
        guard clientRooms[place].isWanted || renewal != nil else {
            clientRooms[place].store = .due
            return removeIfDone(room)
        }
        clientRooms[place].store = .ready
        clientRooms[place].inbox = Inbox(cursor: stored.cursor, first: stored.first, proof: stored.proof)
        clientRooms[place].outbox = RoomOutbox(stored: stored.outbox, next: stored.next)
        (clientRooms[place].read, clientRooms[place].fillsUp) = (stored.read, false)
        clientRooms[place].told = nil
        if !clientRooms[place].isWanted { abandon(place) }
        giveUpTooLong(place, into: &effects)
        let held = clientRooms[place].held
        (clientRooms[place].held, clientRooms[place].heldBytes) = ([], 0)
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

    /// Suspends a room for a while; then it is loaded again.
    private mutating func rest(_ place: Int, full: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        let until = now + Backoff(base: policy.storePause, cap: .seconds(30)).ceiling(attempt: storeFailures + 1)
        if link.listens { answered(place, at: now, into: &effects) }
        clientRooms[place].detach()
        clientRooms[place].outbox = RoomOutbox()
        clientRooms[place].store = .resting(until: until, full: full)
        remind(at: until)
        refuseHeld(place, .store(full: full), into: &effects)
        notify(.loading, of: place, into: &effects)
        joinNext(at: now, into: &effects)
    }

    private mutating func forget(_ commits: [CommitQueue.Pending]) {
        for commit in commits {
            for room in commit.rooms {
                guard let place = places[room] else { continue }
                clientRooms[place].unwritten -= 1
                clientRooms[place].unwrittenEntries -= commit.entries
                clientRooms[place].unwrittenBytes -= commit.bytes
            }
        }
    }

    mutating func committed(_ number: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        let commits = commits.commit(upTo: number)
        guard !commits.isEmpty else { return }
        storeFailures = 0
        forget(commits)
        for commit in commits { effects += commit.news.map { .news($0) } }
        if commits.contains(where: \.isRenewal) { meetAgain(after: 0, at: now, into: &effects) }
        for commit in commits {
            for room in commit.rooms {
                guard let place = places[room] else { continue }
                guard clientRooms[place].isWanted || renewal != nil else {
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
        let commits = commits.void(from: number)
        guard !commits.isEmpty else { return }
        forget(commits)
        for undo in commits.flatMap(\.undos) {
            switch undo {
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

/// The ordered transactions that are not known to be on disk, in order.
struct CommitQueue: Hashable, Sendable {
    /// What to report if a transaction was not written.
    enum Undo: Hashable, Sendable {
        case notQueued(RoomName, MessageID)
        case noPage(RoomName, reference: Int64)
        case stillFailed(RoomName, MessageID, OutboxFailure)
        case notRenewed(DeviceID)
    }
    struct Pending: Hashable, Sendable {
        var number: Int64
        /// The rooms that it changes, each once.
        var rooms: [RoomName]
        /// The news for the app once the transaction is on disk.
        var news: [RoomsNews]
        var undos: [Undo]
        var isRenewal = false
        /// The entries and payload bytes in it.
        var entries = 0
        var bytes = 0
    }
    /// In the order of their numbers.
    private(set) var pending: [Pending] = []
    private var last: Int64 = 0
    /// All transactions up to this number are on disk.
    private(set) var written: Int64 = 0

    /// The number of the next transaction.
    var next: Int64 { last + 1 }
    var isEmpty: Bool { pending.isEmpty }

    mutating func order(_ commit: Pending) {
        last = commit.number
        pending.append(commit)
    }

    /// Adds news that the app gets after the last pending transaction of a room; returns false if none is pending.
    mutating func notify(_ news: RoomsNews, after room: RoomName) -> Bool {
        guard let place = pending.lastIndex(where: { $0.rooms.contains(room) }) else { return false }
        pending[place].news.append(news)
        return true
    }

    /// Returns the transactions that are now on disk, and removes them.
    mutating func commit(upTo number: Int64) -> [Pending] {
        let count = pending.prefix { $0.number <= number }.count
        guard count > 0 else { return [] }
        written = pending[count - 1].number
        defer { pending.removeFirst(count) }
        return Array(pending.prefix(count))
    }

    /// Returns the transactions that will never be on disk, and removes them; none if the number is not pending.
    mutating func void(from number: Int64) -> [Pending] {
        guard let place = pending.firstIndex(where: { $0.number == number }) else { return [] }
        defer { pending.removeSubrange(place...) }
        return Array(pending[place...])
    }
}
