/// The app's view of a room: a value that follows the news of ``RoomsMachine`` and the requests of the app.
///
/// The outbox in it shows the stage of each message. For a message that the app follows, the record keeps the stage after the message has
/// left the outbox.
package struct RoomRecord: Hashable, Sendable {
    /// The result of a request for older entries.
    package enum PageOutcome: Hashable, Sendable {
        case page([Entry], reachedBeginning: Bool)
        case none(Refusal?)
    }
    /// A message that the app follows.
    private struct Followed: Hashable, Sendable {
        let id: MessageID
        /// The stage of the message, even after it has left the outbox.
        var stage: DeliveryStage
        /// Why the outbox did not accept it.
        var refusal: OutboxRefusal?
    }

    /// The status of the room, without the entries.
    package private(set) var status = RoomStatus()
    /// Whether the stored state of the room is known.
    package private(set) var isLoaded = false
    /// Whether the app wants all entries that the hub retains.
    private var startsAtBeginning = false
    /// Whether older entries are still being fetched; readers from the beginning wait for them.
    var isFilling = false
    /// How often the stored entries were replaced.
    var generation: UInt64 = 0
    var readers: [UInt64: RoomReading] = [:]
    /// The requests for older entries that a caller waits for, with their results.
    private var pages: [Int64: PageOutcome?] = [:]
    /// Failed messages that are being queued again, with the reason of the failure.
    private var retried: [MessageID: OutboxFailure] = [:]
    /// By the number of the follower.
    private var followed: [UInt64: Followed] = [:]
    // After a message has left the outbox, another one may be sent under its ID. It has its own follower.
    private var followers: [MessageID: UInt64] = [:]
    /// The followers of messages whose stage has changed.
    private var changed: [UInt64] = []

    /// - Parameter user: The own user; nil before the hub has named it.
    package init(user: UserName? = nil) { status.user = user }

    // MARK: - Commands of the app

    package mutating func join(_ wish: JoinRequest) {
        startsAtBeginning = wish.start == .beginning
        if status.phase == .left { status.phase = .loading }
    }

    package mutating func leave() {
        status.phase = .left
        (status.members, status.total, status.typing) = ([], 0, [])
    }

    /// Moves the own read marker to an entry; returns false if it does not advance.
    package mutating func markRead(upTo seq: Int64) -> Bool {
        guard seq > status.read, seq <= status.cursor.seq else { return false }
        status.read = seq
        return true
    }

    /// Adds a message that is to be written to the outbox.
    package mutating func submit(_ id: MessageID, sent: Int64, _ content: Publication.Content) {
        followers[id] = nil
        status.outbox.append(PendingMessage(id: id, sent: sent, content: content, stage: .submitted))
    }

    /// Marks a failed message to be sent after all.
    package mutating func retry(_ id: MessageID) {
        guard let place = place(of: id), let failure = status.outbox[place].stage.failure else { return }
        retried[id] = failure
        status.outbox[place].stage = .submitted
        if let follower = followers[id] { note(.submitted, for: follower) }
    }

    /// Returns whether a message has failed and can be retried.
    package func mayRetry(_ id: MessageID) -> Bool { place(of: id).map { status.outbox[$0].stage.failure != nil } ?? false }

    /// Returns whether a message can still be discarded.
    package func mayDiscard(_ id: MessageID) -> Bool { place(of: id).map { status.outbox[$0].stage.position == nil } ?? false }

    package func isWaiting(_ id: MessageID) -> Bool { place(of: id) != nil }

    private func place(of id: MessageID) -> Int? { status.outbox.firstIndex { $0.id == id } }

    // MARK: - Followed messages

    /// Starts to follow a message in the outbox; returns false if the outbox has no message with this ID.
    package mutating func follow(_ id: MessageID, as follower: UInt64) -> Bool {
        guard let place = place(of: id) else { return false }
        followed[follower] = Followed(id: id, stage: status.outbox[place].stage)
        followers[id] = follower
        return true
    }

    package mutating func unfollow(_ follower: UInt64) {
        guard let id = followed.removeValue(forKey: follower)?.id, followers[id] == follower else { return }
        followers[id] = nil
    }

    package func follower(of id: MessageID) -> UInt64? { followers[id] }
    /// Returns the stage of a followed message.
    package func stage(for follower: UInt64) -> DeliveryStage? { followed[follower]?.stage }
    /// Returns why the outbox did not accept a followed message.
    package func refusal(for follower: UInt64) -> OutboxRefusal? { followed[follower]?.refusal }

    /// Returns the followers of messages whose stage has changed since the last call.
    package mutating func takeChanged() -> [UInt64] {
        defer { changed = [] }
        return changed
    }

    private mutating func note(_ stage: DeliveryStage, for follower: UInt64) {
        followed[follower]?.stage = stage
        changed.append(follower)
    }

    /// Moves a message to a new stage.
    ///
    /// A stored message stays in the outbox until its entry arrives, so that it never disappears from the screen.
    private mutating func move(_ id: MessageID, to stage: DeliveryStage) {
        retried[id] = nil
        let (place, follower) = (place(of: id), followers[id])
        // A copy that is sent again does not undo what is known.
        if stage == .sent, (follower.flatMap { self.stage(for: $0) } ?? place.map { status.outbox[$0].stage })?.position != nil { return }
        if let follower {
            let readers = stage.position.map { self.readers(of: $0) } ?? []
            note(stage.position.flatMap { readers.isEmpty ? nil : .seen($0, by: readers) } ?? stage, for: follower)
        }
        guard let place else { return }
        switch stage {
        case .stored(let position) where position.epoch == status.cursor.epoch && position.seq > status.cursor.seq:
            status.outbox[place].stage = stage
        case .stored, .seen, .discarded: status.outbox.remove(at: place)
        case .submitted, .queued, .sent, .failed: status.outbox[place].stage = stage
        }
    }

    private mutating func refuse(_ id: MessageID, _ refusal: OutboxRefusal) {
        // A message that was in the outbox before stays there unchanged.
        if let failure = retried[id] { return move(id, to: .failed(failure)) }
        guard let place = place(of: id), status.outbox[place].stage == .submitted else { return }
        status.outbox.remove(at: place)
        guard let follower = followers[id] else { return }
        followed[follower]?.refusal = refusal
        changed.append(follower)
    }

    /// Sets the number of a message and sorts the outbox by it: a failed message that is retried moves to the end.
    private mutating func number(_ id: MessageID, _ cseq: Int64) {
        guard let place = place(of: id) else { return }
        status.outbox[place].cseq = cseq
        // Most messages are in the right place already.
        let (before, after) = (place > 0 ? status.outbox[place - 1].cseq ?? .max : 0, status.outbox.dropFirst(place + 1).first?.cseq)
        if before < cseq, after ?? .max > cseq { return }
        let message = status.outbox.remove(at: place)
        status.outbox.insert(message, at: status.outbox.firstIndex { $0.cseq ?? .max > cseq } ?? status.outbox.count)
    }

    // MARK: - Stored state and news

    /// Takes the stored state; messages that were submitted meanwhile come after it.
    package mutating func load(_ stored: StoredRoom) {
        (isLoaded, isFilling, retried) = (true, false, [:])
        if stored.cursor.epoch != status.cursor.epoch || stored.cursor.seq < status.cursor.seq { generation += 1 }
        (status.cursor, status.first, status.read) = (stored.cursor, stored.first, max(stored.read, status.read))
        let known = Dictionary(status.outbox.map { ($0.id, $0.stage) }, uniquingKeysWith: { first, _ in first })
        let rows = stored.outbox.compactMap { row -> PendingMessage? in
            guard let content = row.publication.content else { return nil }
            let stage: DeliveryStage
            switch row.state {
            case .queued:
                let before = known[row.publication.id] ?? .queued
                stage = before == .submitted ? .queued : before
            case .voiding(let failure), .failed(let failure): stage = .failed(failure)
            }
            var message = PendingMessage(id: row.publication.id, sent: row.publication.sent, content: content, stage: stage)
            message.cseq = row.publication.cseq
            return message
        }
        let ids = Set(rows.map(\.id))
        status.outbox = rows + status.outbox.filter { !ids.contains($0.id) && ($0.stage == .submitted || $0.stage.position != nil) }
        for message in rows {
            if let follower = followers[message.id], stage(for: follower) == .submitted { note(message.stage, for: follower) }
        }
        dropShown()
    }

    /// Takes news about this room or about all rooms.
    package mutating func handle(_ news: RoomsNews) {
        switch news {
        case .welcomed(let user, _, _, _): status.user = user
        // All messages in the outbox get new numbers, in the same order.
        case .renewed: for place in status.outbox.indices where status.outbox[place].cseq != nil { status.outbox[place].cseq = 0 }
        case .signal: break
        case .storeFailed: break  // Each affected message is refused, and the entries come again.
        case .phase(_, let phase): status.phase = phase
        case .queued(_, let id, let cseq):
            move(id, to: .queued)
            number(id, cseq)
        case .sent(_, let id): move(id, to: .sent)
        case .stored(_, let id, let position): move(id, to: .stored(position))
        case .failed(_, let id, let failure): move(id, to: .failed(failure))
        case .discarded(_, let id): move(id, to: .discarded)
        case .refused(_, let id, let refusal): refuse(id, refusal)
        case .appended(_, let epoch, let entries): append(entries, epoch: epoch)
        case .replaced(_, let position, let entries): replace(position, entries)
        case .page(_, let number, let entries, let reachedBeginning):
            prepend(entries, reachedBeginning: reachedBeginning)
            if pages[number] != nil { pages[number] = .some(.page(entries, reachedBeginning: reachedBeginning)) }
        case .noPage(_, let number, let refusal):
            if number == 0 { isFilling = false }
            if pages[number] != nil { pages[number] = .some(.none(refusal)) }
        case .members(_, let members, let total): (status.members, status.total) = (RoomMember.grouped(members), total)
        case .typing(_, let users): status.typing = users
        case .read(_, let reader, let seq): read(by: reader, upTo: seq)
        }
    }

    private mutating func read(by reader: UserName, upTo seq: Int64) {
        status.reads[reader] = max(seq, status.reads[reader] ?? 0)
        if reader == status.user { return status.read = max(seq, status.read) }
        for (follower, message) in followed {
            guard let position = message.stage.position else { continue }
            let readers = readers(of: position)
            if !readers.isEmpty, message.stage != .seen(position, by: readers) { note(.seen(position, by: readers), for: follower) }
        }
    }

    /// Returns the other users who have read up to a position.
    private func readers(of position: LogPosition) -> [UserName] {
        guard position.epoch == status.cursor.epoch, position.seq > 0 else { return [] }
        return status.reads.filter { $0.value >= position.seq && $0.key != status.user }.keys.sorted()
    }

    /// Refuses the submitted messages that were not written; called at the end, when all ordered writes are done.
    package mutating func settle() {
        for message in status.outbox where message.stage == .submitted { refuse(message.id, .closed) }
    }

    // MARK: - Older entries

    /// Records that a caller waits for a page of older entries.
    package mutating func awaitPage(_ number: Int64) { pages[number] = .some(nil) }
    package mutating func forgetPage(_ number: Int64) { pages[number] = nil }
    package func page(_ number: Int64) -> PageOutcome? { pages[number] ?? nil }

    // MARK: - Entries

    private mutating func append(_ entries: [Entry], epoch: UInt64) {
        guard let last = entries.last else { return }
        status.cursor = LogPosition(epoch: epoch, seq: last.seq)
        dropShown()
        offer(entries)
    }

    private mutating func replace(_ position: LogPosition, _ entries: [Entry]) {
        generation += 1
        isFilling = startsAtBeginning && status.cursor == .nowhere && entries.first?.seq ?? 1 > 1
        // A log that went back has other entries under the same numbers.
        if position.epoch != status.cursor.epoch || position.seq < status.cursor.seq { (status.reads, status.read) = ([:], 0) }
        (status.cursor, status.first) = (position, entries.first?.seq ?? position.seq + 1)
        dropShown()
    }

    private mutating func prepend(_ entries: [Entry], reachedBeginning: Bool) {
        if let first = entries.first, let last = entries.last, last.seq == status.first - 1 { status.first = first.seq }
        if reachedBeginning || status.first == 1 { isFilling = false }
    }

    /// Removes stored messages whose entries have arrived.
    private mutating func dropShown() {
        let cursor = status.cursor
        status.outbox.removeAll { message in
            message.stage.position.map { $0.epoch != cursor.epoch || $0.seq <= cursor.seq } ?? false
        }
    }

    mutating func skip(to first: Int64) { status.first = max(first, status.first) }
}

extension RoomsNews {
    /// The room that the news is about; nil if it is about none.
    package var room: RoomName? {
        switch self {
        case .welcomed, .renewed, .storeFailed: nil
        case .phase(let room, _), .queued(let room, _, _), .sent(let room, _), .stored(let room, _, _), .failed(let room, _, _),
            .refused(let room, _, _), .discarded(let room, _), .appended(let room, _, _), .replaced(let room, _, _),
            .page(let room, _, _, _), .noPage(let room, _, _), .members(let room, _, _), .typing(let room, _), .read(let room, _, _),
            .signal(let room, _, _, _):
            room
        }
    }
}
