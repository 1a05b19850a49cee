import MachineCore
import ProtocolCore

/// What the app sends, until the hub has it.
extension RoomsMachine {
    var inFlight: Int { seats.reduce(0) { $0 + $1.outbox.inFlight } }

    mutating func submit(
        _ room: RoomName, _ id: MessageID, sent: Int64, _ content: Publication.Content, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        let lengths = 1...RoomsLimits.typeLength
        guard content.payload.bytes.count <= link.limits.body, content.frameLength(to: room) <= link.limits.frame,
            lengths.contains(content.type.utf8.count),
            content.about.map({ lengths.contains($0.kind.utf8.count) && (1..<RoomsLimits.number).contains($0.seq) }) ?? true
        else { return effects.append(.news(.refused(room, id, .tooLong))) }
        // What makes a frame that nobody can read would be refused again and again, with all that stands behind it.
        guard content.payload.isReadable else { return effects.append(.news(.refused(room, id, .notJSON))) }
        act(.submit(id, sent: clock.corrected(sent, at: now), content), in: room, at: now, into: &effects)
    }

    /// Does what the app wants with a message, as soon as the room's outbox is read.
    mutating func act(_ act: RoomSeat.Held, in room: RoomName, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room) else { return refuse(act, in: room, .notJoined, into: &effects) }
        switch seats[place].store {
        case .resting(_, let full): refuse(act, in: room, .store(full: full), into: &effects)
        case .due, .loading:
            var weight = 0
            if case .submit(_, _, let content) = act { weight = content.weight }
            guard seats[place].held.count < policy.outboxCount else {
                return refuse(act, in: room, .tooMany(policy.outboxCount), into: &effects)
            }
            guard seats[place].heldBytes + weight <= policy.outboxBytes else {
                return refuse(act, in: room, .tooMuch(bytes: policy.outboxBytes), into: &effects)
            }
            seats[place].heldBytes += weight
            seats[place].held.append(act)
        case .ready:
            switch act {
            case .submit(let id, let sent, let content): queue(id, sent: sent, content, at: place, now, into: &effects)
            case .retry(let id): retry(id, at: place, now, into: &effects)
            case .discard(let id): discard(id, at: place, into: &effects)
            }
        }
    }

    private mutating func refuse(
        _ act: RoomSeat.Held, in room: RoomName, _ refusal: OutboxRefusal, into effects: inout [RoomsEffect]
    ) {
        switch act {
        case .submit(let id, _, _), .retry(let id), .discard(let id): effects.append(.news(.refused(room, id, refusal)))
        }
    }

    mutating func refuseHeld(_ place: Int, _ refusal: OutboxRefusal, into effects: inout [RoomsEffect]) {
        for act in seats[place].held { refuse(act, in: seats[place].room, refusal, into: &effects) }
        (seats[place].held, seats[place].heldBytes) = ([], 0)
    }

    private mutating func queue(
        _ id: MessageID, sent: Int64, _ content: Publication.Content, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]
    ) {
        let room = seats[place].room
        // The same message again is the message that waits already.
        guard !seats[place].outbox.contains(id) else {
            guard let row = seats[place].outbox[id] else {
                guard let (_, failure) = seats[place].outbox.failure(of: id) else { return }
                return effects.append(.news(.failed(room, id, failure)))
            }
            return tellOnceWritten(.queued(room, id, cseq: row.publication.cseq), of: place, into: &effects)
        }
        guard seats[place].outbox.count < policy.outboxCount else {
            return effects.append(.news(.refused(room, id, .tooMany(policy.outboxCount))))
        }
        guard seats[place].outbox.bytes + content.weight + 64 <= policy.outboxBytes else {
            return effects.append(.news(.refused(room, id, .tooMuch(bytes: policy.outboxBytes))))
        }
        let publication = seats[place].outbox.queue(
            id, sent: sent, content, commit: ledger.next, isUncorrected: !clock.knowsHub, fate: renewal == nil ? .unknown : .free)
        let commit = pending(room, news: [.queued(room, id, cseq: publication.cseq)], regrets: [.notQueued(room, id)])
        order(commit, [.queue(OutboxRow(room: room, publication: publication))], into: &effects)
        seats[place].typing.published(at: now)
    }

    /// A failed message gets a new number; its old one is burnt, so its name may stand in the log once more.
    mutating func retry(_ id: MessageID, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]) {
        let room = seats[place].room
        guard let (row, _) = seats[place].outbox.failure(of: id), let content = row.publication.content else {
            return seats[place].outbox.want(id)
        }
        seats[place].outbox.removeFailed(id)
        let sent = clock.now(at: now) ?? row.publication.sent
        let publication = seats[place].outbox.queue(
            id, sent: sent, content, commit: ledger.next, isUncorrected: !clock.knowsHub, fate: renewal == nil ? .unknown : .free)
        let commit = pending(room, news: [.queued(room, id, cseq: publication.cseq)], regrets: [.notQueued(room, id)])
        order(
            commit, [.remove(room, cseq: row.publication.cseq), .queue(OutboxRow(room: room, publication: publication))], into: &effects)
    }

    private mutating func discard(_ id: MessageID, at place: Int, into effects: inout [RoomsEffect]) {
        let room = seats[place].room
        if let (row, failure) = seats[place].outbox.failure(of: id) {
            seats[place].outbox.removeFailed(id)
            let commit = pending(room, news: [.discarded(room, id)], regrets: [.stillFailed(room, id, failure)])
            order(commit, [.remove(room, cseq: row.publication.cseq)], into: &effects)
        } else if let row = seats[place].outbox[id], row.state != .burning(.discarded) {
            // It may be on its way: only its number can be burnt, and the ack will tell who was first.
            let cseq = row.publication.cseq
            seats[place].outbox.burn(cseq, .discarded, commit: ledger.next)
            order(pending(room), [.mark(room, cseq: cseq, .burning(.discarded))], into: &effects)
        }
    }

    /// Gives up what is too long for a frame of this hub: it would end each connection.
    ///
    /// It was taken before the hub's limits were known, or when they were others, and may have been stored then. So the app hears of it once
    /// the ack of its void tells.
    mutating func giveUpTooLong(_ place: Int, into effects: inout [RoomsEffect]) {
        guard seats[place].store == .ready else { return }
        let (room, longest) = (seats[place].room, link.limits.frame)
        let hopeless = seats[place].outbox.rows.filter { row in
            row.state == .queued && row.fate == .unknown && row.publication.content.map { $0.frameLength(to: room) > longest } ?? false
        }
        guard !hopeless.isEmpty else { return }
        for row in hopeless { seats[place].outbox.burn(row.publication.cseq, .tooLong, commit: ledger.next, isTold: false) }
        order(pending(room), hopeless.map { .mark(room, cseq: $0.publication.cseq, .burning(.tooLong)) }, into: &effects)
    }

    // MARK: Sending

    /// Sends what a room has to say, as far as the windows allow.
    mutating func pump(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, seats[place].isAttached, seats[place].isWanted, seats[place].store == .ready,
            let oldest = seats[place].outbox.oldest
        else { return }
        if let until = seats[place].holdUntil {
            guard until <= now else { return remind(at: until) }
            seats[place].holdUntil = nil
        }
        if oldest > seats[place].high + 1 {
            // The hub has less than it has acked: its log was rewound, or it has forgotten the device.
            guard renewal == nil else {
                seats[place].outbox.settle(from: .min, .free)
                return settleIfKnown(at: now, into: &effects)
            }
            return demandRenewal(at: now, into: &effects)
        }
        let (window, roomWindow) = (max(link.limits.window, 1), Int(min(max(link.limits.roomWindow, 1), 10_000)))
        var total = Int64(inFlight)
        while let index = seats[place].outbox.ready(window: roomWindow, written: ledger.written) {
            guard total < window else { return isTight = true }
            total += 1
            let row = seats[place].outbox.rows[index]
            effects.append(.send(.publish(seats[place].room, publication(of: row, at: now))))
            if seats[place].outbox.sent(at: index, isContent: renewal == nil) {
                effects.append(.news(.sent(seats[place].room, row.publication.id)))
            }
            if seats[place].resendAt == nil {
                seats[place].resendAt = now + policy.resendAfter
                remind(at: now + policy.resendAfter)
            }
        }
    }

    private func publication(of row: Outbox.Row, at now: Moment) -> Publication {
        var publication = row.publication
        // A clock that was ahead when it was submitted must not keep it out.
        if let time = clock.now(at: now) { publication.sent = min(publication.sent, time) }
        if let renewal {
            (publication.content, publication.id) = (nil, renewal.barrier)
        } else if row.state != .queued {
            publication.content = nil
        }
        return publication
    }

    mutating func pumpAllIfTight(at now: Moment, into effects: inout [RoomsEffect]) {
        guard isTight else { return }
        isTight = false
        for place in seats.indices { pump(place, at: now, into: &effects) }
    }

    /// The hub has taken something: what is still on its way has its time again.
    mutating func progress(_ place: Int, at now: Moment) {
        if renewal?.deadline != nil { awaitSettling(at: now) }
        seats[place].resends = 0
        seats[place].resendAt = seats[place].outbox.inFlight > 0 ? now + policy.resendAfter : nil
        if let moment = seats[place].resendAt { remind(at: moment) }
    }

    // MARK: Answers

    mutating func take(
        _ acks: [HubFrame.Ack], epoch: UInt64, in room: RoomName, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = wanted(room), seats[place].store == .ready, seats[place].isAttached else { return }
        guard epoch == seats[place].epoch else { return nonsense(place, at: now, into: &effects) }
        var (changes, news): ([StoreChange], [RoomsNews]) = ([], [])
        var isForeign = false
        var anew: [MessageID] = []
        for ack in acks {
            guard ack.cseq < seats[place].outbox.next else {
                isForeign = true
                continue
            }
            seats[place].high = max(seats[place].high, ack.cseq)
            if let renewal, ack.id == renewal.barrier {
                // The hub had nothing under this number, and so nothing behind it.
                seats[place].outbox.settle(from: ack.cseq, .free)
                continue
            }
            switch seats[place].outbox.outcome(of: ack, isTrimmed: seats[place].base > 1) {
            case .nothing: break
            case .stored(let row):
                seats[place].outbox.remove(ack.cseq)
                seats[place].missed = nil
                changes.append(.remove(room, cseq: ack.cseq))
                news.append(.stored(room, row.publication.id, LogPosition(epoch: epoch, seq: max(ack.seq, 0))))
            case .burnt(let row, .discarded) where !row.isWanted:
                seats[place].outbox.remove(ack.cseq)
                changes.append(.remove(room, cseq: ack.cseq))
                news.append(.discarded(room, row.publication.id))
            case .burnt(let row, let failure):
                seats[place].outbox.fail(ack.cseq, failure, room: room)
                changes.append(.mark(room, cseq: ack.cseq, .failed(failure)))
                if row.isWanted { anew.append(row.publication.id) }
                if !row.isTold, !row.isWanted { news.append(.failed(room, row.publication.id, failure)) }
            case .uncertain(let row):
                seats[place].outbox.fail(ack.cseq, .uncertain, room: room)
                changes.append(.mark(room, cseq: ack.cseq, .failed(.uncertain)))
                news.append(.failed(room, row.publication.id, .uncertain))
            case .foreign:
                seats[place].outbox.settle(ack.cseq, .free)
                isForeign = true
            }
        }
        if !changes.isEmpty { order(pending(room, news: news), changes, into: &effects) }
        progress(place, at: now)
        for id in anew { retry(id, at: place, now, into: &effects) }
        if isForeign { demandRenewal(at: now, into: &effects) }
        settleIfKnown(at: now, into: &effects)
        if link.isUp {
            pump(place, at: now, into: &effects)
            pumpAllIfTight(at: now, into: &effects)
        }
    }

    mutating func fill(_ room: RoomName, from expected: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), seats[place].store == .ready, seats[place].isAttached else { return }
        guard (1...seats[place].outbox.next).contains(expected) else { return nonsense(place, at: now, into: &effects) }
        // The hub knows best what it has.
        seats[place].high = expected - 1
        // A hub that misses the same again and again gets it ever more slowly: otherwise 40 bytes of it would draw a whole window of ours.
        if let missed = seats[place].missed, expected <= missed.expected {
            if let until = seats[place].holdUntil, now < until { return }
            seats[place].missed?.pause = min(missed.pause * 2, policy.resendAfter)
            return hold(place, from: expected, missed.pause, at: now)
        }
        seats[place].missed = RoomSeat.Missed(expected: expected, pause: policy.leastPause)
        seats[place].outbox.rewind(to: expected)
        progress(place, at: now)
        pump(place, at: now, into: &effects)
    }

    /// A publication was refused.
    mutating func refuse(_ cseq: Int64, _ refusal: Refusal, of place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let row = seats[place].outbox[cseq], row.isInFlight else { return }
        let room = seats[place].room
        switch refusal.retry {
        case .never where renewal != nil:
            // Nobody will say what is under these numbers.
            seats[place].outbox.settle(from: cseq, .uncertain)
            settleIfKnown(at: now, into: &effects)
        case .never where row.state == .queued:
            // It may have been stored before, and be forgotten.
            let failure = refusal.code == .tooOld ? .expired : OutboxFailure(code: refusal.code, text: refusal.text)
            seats[place].outbox.burn(cseq, failure, commit: ledger.next)
            let commit = pending(room, news: [.failed(room, row.publication.id, failure)])
            order(commit, [.mark(room, cseq: cseq, .burning(failure))], into: &effects)
        // A message that was sent twice is refused twice; only the void's ack ends its burning.
        case .never: break
        case .now: hold(place, from: cseq, policy.leastPause, at: now)
        case .after where refusal.code == .tooNew:
            // The hub's clock is not what it was: once it is known, the message is as old as that says.
            effects.append(.send(.ping(0)))
            hold(place, from: cseq, policy.resendAfter, at: now)
        case .after(let milliseconds): hold(place, from: cseq, wait(milliseconds), at: now)
        case .reconnect: break
        }
        if refusal.code == .notJoined, seats[place].standing == .live { nonsense(place, at: now, into: &effects) }
    }

    private mutating func hold(_ place: Int, from cseq: Int64, _ pause: Duration, at now: Moment) {
        seats[place].outbox.rewind(to: cseq)
        seats[place].holdUntil = max(seats[place].holdUntil ?? .start, now + pause)
        progress(place, at: now)
        remind(at: now + pause)
    }

    /// Looks at what the hub has of us.
    mutating func judge(high: Int64, id: MessageID?, of place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        let outbox = seats[place].outbox
        var isForeign = high >= outbox.next
        if let id, let row = outbox[high], row.publication.id != id {
            seats[place].outbox.settle(high, .free)
            isForeign = true
        }
        if isForeign { demandRenewal(at: now, into: &effects) }
        settleIfKnown(at: now, into: &effects)
    }
}

extension Publication.Content {
    /// About how many bytes its frame has in JSON, where it is longest; not less than it has.
    fileprivate func frameLength(to room: RoomName) -> Int64 {
        let length =
            switch payload {
            case .json(let bytes): bytes.count
            case .binary(let bytes): (bytes.count + 2) / 3 * 4
            }
        let types = type.utf8.count + (about?.kind.utf8.count ?? 0)
        // A byte of a type may be written as an escape of six. The rest is the names of fields, an id and three numbers.
        return Int64(length + 6 * types + 2 * room.text.utf8.count + 256)
    }
}
