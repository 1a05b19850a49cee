import MachineCore
import ProtocolCore

/// The app's messages, until the hub has stored them.
extension RoomsMachine {
    var inFlight: Int { clientRooms.reduce(0) { $0 + $1.outbox.inFlight } }

    mutating func submit(
        _ room: RoomName, _ id: MessageID, sent: Int64, _ content: Publication.Content, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        let lengths = 1...RoomsLimits.typeLength
        guard content.payload.bytes.count <= link.limits.body, content.frameLength(to: room) <= link.limits.frame,
            lengths.contains(content.type.utf8.count),
            content.about.map({ lengths.contains($0.kind.utf8.count) && (1..<RoomsLimits.number).contains($0.seq) }) ?? true
        else { return effects.append(.news(.refused(room, id, .tooLong))) }
        // A payload that makes an unreadable frame would be refused again and again, together with all messages after it.
        guard content.payload.isReadable else { return effects.append(.news(.refused(room, id, .notJSON))) }
        act(.submit(id, sent: clock.corrected(sent, at: now), content), in: room, at: now, into: &effects)
    }

    /// Executes a command of the app on a message, as soon as the room's outbox is loaded.
    mutating func act(_ act: ClientRoom.Held, in room: RoomName, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room) else { return refuse(act, in: room, .notJoined, into: &effects) }
        switch clientRooms[place].store {
        case .resting(_, let full): refuse(act, in: room, .store(full: full), into: &effects)
        case .due, .loading:
            var weight = 0
            if case .submit(_, _, let content) = act { weight = content.weight }
            guard clientRooms[place].held.count < policy.outboxCount else {
                return refuse(act, in: room, .tooMany(policy.outboxCount), into: &effects)
            }
            guard clientRooms[place].heldBytes + weight <= policy.outboxBytes else {
                return refuse(act, in: room, .tooMuch(bytes: policy.outboxBytes), into: &effects)
            }
            clientRooms[place].heldBytes += weight
            clientRooms[place].held.append(act)
        case .ready:
            switch act {
            case .submit(let id, let sent, let content): queue(id, sent: sent, content, at: place, now, into: &effects)
            case .retry(let id): retry(id, at: place, now, into: &effects)
            case .discard(let id): discard(id, at: place, into: &effects)
            }
        }
    }

    private mutating func refuse(
        _ act: ClientRoom.Held, in room: RoomName, _ refusal: OutboxRefusal, into effects: inout [RoomsEffect]
    ) {
        switch act {
        case .submit(let id, _, _), .retry(let id), .discard(let id): effects.append(.news(.refused(room, id, refusal)))
        }
    }

    mutating func refuseHeld(_ place: Int, _ refusal: OutboxRefusal, into effects: inout [RoomsEffect]) {
        for act in clientRooms[place].held { refuse(act, in: clientRooms[place].room, refusal, into: &effects) }
        (clientRooms[place].held, clientRooms[place].heldBytes) = ([], 0)
    }

    private mutating func queue(
        _ id: MessageID, sent: Int64, _ content: Publication.Content, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]
    ) {
        let room = clientRooms[place].room
        // A message with the same ID is the message that waits already.
        guard !clientRooms[place].outbox.contains(id) else {
            guard let row = clientRooms[place].outbox[id] else {
                guard let (_, failure) = clientRooms[place].outbox.failure(of: id) else { return }
                return effects.append(.news(.failed(room, id, failure)))
            }
            return notifyOnceWritten(.queued(room, id, cseq: row.publication.cseq), of: place, into: &effects)
        }
        guard clientRooms[place].outbox.count < policy.outboxCount else {
            return effects.append(.news(.refused(room, id, .tooMany(policy.outboxCount))))
        }
        guard clientRooms[place].outbox.bytes + content.weight + 64 <= policy.outboxBytes else {
            return effects.append(.news(.refused(room, id, .tooMuch(bytes: policy.outboxBytes))))
        }
        let publication = clientRooms[place].outbox.queue(
            id, sent: sent, content, commit: commits.next, isUncorrected: !clock.knowsHub, verdict: renewal == nil ? .unknown : .free)
        let commit = pending(room, news: [.queued(room, id, cseq: publication.cseq)], undos: [.notQueued(room, id)])
        order(commit, [.queue(OutboxRow(room: room, publication: publication))], into: &effects)
        clientRooms[place].typing.published(at: now)
    }

    /// Queues a failed message under a new number; the old number is voided, so its ID may appear in the log once more.
    mutating func retry(_ id: MessageID, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]) {
        let room = clientRooms[place].room
        guard let (row, _) = clientRooms[place].outbox.failure(of: id), let content = row.publication.content else {
            return clientRooms[place].outbox.want(id)
        }
        clientRooms[place].outbox.removeFailed(id)
        let sent = clock.now(at: now) ?? row.publication.sent
        let publication = clientRooms[place].outbox.queue(
            id, sent: sent, content, commit: commits.next, isUncorrected: !clock.knowsHub, verdict: renewal == nil ? .unknown : .free)
        let commit = pending(room, news: [.queued(room, id, cseq: publication.cseq)], undos: [.notQueued(room, id)])
        order(
            commit, [.remove(room, cseq: row.publication.cseq), .queue(OutboxRow(room: room, publication: publication))], into: &effects)
    }

    private mutating func discard(_ id: MessageID, at place: Int, into effects: inout [RoomsEffect]) {
        let room = clientRooms[place].room
        if let (row, failure) = clientRooms[place].outbox.failure(of: id) {
            clientRooms[place].outbox.removeFailed(id)
            let commit = pending(room, news: [.discarded(room, id)], undos: [.stillFailed(room, id, failure)])
            order(commit, [.remove(room, cseq: row.publication.cseq)], into: &effects)
        } else if let row = clientRooms[place].outbox[id], row.state != .voiding(.discarded) {
            // The message may be in flight: only its number can be voided, and the ack shows which came first.
            let cseq = row.publication.cseq
            clientRooms[place].outbox.void(cseq, .discarded, commit: commits.next)
            order(pending(room), [.mark(room, cseq: cseq, .voiding(.discarded))], into: &effects)
        }
    }

    /// Gives up messages that are too long for a frame of this hub, which would end each connection.
    ///
    /// Such a message was submitted before the hub's limits were known, or when they were different, and may have been stored then. So
    /// the app learns the result only when the void is acked.
    mutating func giveUpTooLong(_ place: Int, into effects: inout [RoomsEffect]) {
        guard clientRooms[place].store == .ready else { return }
        let (room, longest) = (clientRooms[place].room, link.limits.frame)
        let hopeless = clientRooms[place].outbox.rows.filter { row in
            row.state == .queued && row.verdict == .unknown && row.publication.content.map { $0.frameLength(to: room) > longest } ?? false
        }
        guard !hopeless.isEmpty else { return }
        for row in hopeless { clientRooms[place].outbox.void(row.publication.cseq, .tooLong, commit: commits.next, isTold: false) }
        order(pending(room), hopeless.map { .mark(room, cseq: $0.publication.cseq, .voiding(.tooLong)) }, into: &effects)
    }

    // MARK: Sending

    /// Sends a room's publications, as far as the windows allow.
    mutating func pump(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, clientRooms[place].isAttached, clientRooms[place].isWanted, clientRooms[place].store == .ready,
            let oldest = clientRooms[place].outbox.oldest
        else { return }
        if let until = clientRooms[place].holdUntil {
            guard until <= now else { return remind(at: until) }
            clientRooms[place].holdUntil = nil
        }
        if oldest > clientRooms[place].high + 1 {
            // The hub has fewer messages than it has acked: its log has gone back, or it has forgotten the device.
            guard renewal == nil else {
                clientRooms[place].outbox.settle(from: .min, .free)
                return settleIfKnown(at: now, into: &effects)
            }
            return demandRenewal(at: now, into: &effects)
        }
        let (window, roomWindow) = (max(link.limits.window, 1), Int(min(max(link.limits.roomWindow, 1), 10_000)))
        var total = Int64(inFlight)
        while let index = clientRooms[place].outbox.ready(window: roomWindow, written: commits.written) {
            guard total < window else { return isTight = true }
            total += 1
            let row = clientRooms[place].outbox.rows[index]
            effects.append(.send(.publish(clientRooms[place].room, publication(of: row, at: now))))
            if clientRooms[place].outbox.sent(at: index, isContent: renewal == nil) {
                effects.append(.news(.sent(clientRooms[place].room, row.publication.id)))
            }
            if clientRooms[place].resendAt == nil {
                clientRooms[place].resendAt = now + policy.resendAfter
                remind(at: now + policy.resendAfter)
            }
        }
    }

    private func publication(of row: RoomOutbox.Row, at now: Moment) -> Publication {
        var publication = row.publication
        // A clock that was ahead at submission must not cause a refusal.
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
        for place in clientRooms.indices { pump(place, at: now, into: &effects) }
    }

    /// Restarts the resend timer after the hub has answered.
    mutating func progress(_ place: Int, at now: Moment) {
        if renewal?.deadline != nil { awaitSettling(at: now) }
        clientRooms[place].resends = 0
        clientRooms[place].resendAt = clientRooms[place].outbox.inFlight > 0 ? now + policy.resendAfter : nil
        if let moment = clientRooms[place].resendAt { remind(at: moment) }
    }

    // MARK: Answers

    mutating func take(
        _ acks: [HubFrame.Ack], epoch: UInt64, in room: RoomName, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = wanted(room), clientRooms[place].store == .ready, clientRooms[place].isAttached else { return }
        guard epoch == clientRooms[place].epoch else { return nonsense(place, at: now, into: &effects) }
        var (changes, news): ([StoreChange], [RoomsNews]) = ([], [])
        var isForeign = false
        var anew: [MessageID] = []
        for ack in acks {
            guard ack.cseq < clientRooms[place].outbox.next else {
                isForeign = true
                continue
            }
            clientRooms[place].high = max(clientRooms[place].high, ack.cseq)
            if let renewal, ack.id == renewal.barrier {
                // The hub had nothing under this number, and so nothing under later numbers.
                clientRooms[place].outbox.settle(from: ack.cseq, .free)
                continue
            }
            switch clientRooms[place].outbox.outcome(of: ack, isTrimmed: clientRooms[place].base > 1) {
            case .nothing: break
            case .stored(let row):
                clientRooms[place].outbox.remove(ack.cseq)
                clientRooms[place].missed = nil
                changes.append(.remove(room, cseq: ack.cseq))
                news.append(.stored(room, row.publication.id, LogPosition(epoch: epoch, seq: max(ack.seq, 0))))
            case .voided(let row, .discarded) where !row.isWanted:
                clientRooms[place].outbox.remove(ack.cseq)
                changes.append(.remove(room, cseq: ack.cseq))
                news.append(.discarded(room, row.publication.id))
            case .voided(let row, let failure):
                clientRooms[place].outbox.fail(ack.cseq, failure, room: room)
                changes.append(.mark(room, cseq: ack.cseq, .failed(failure)))
                if row.isWanted { anew.append(row.publication.id) }
                if !row.isTold, !row.isWanted { news.append(.failed(room, row.publication.id, failure)) }
            case .uncertain(let row):
                clientRooms[place].outbox.fail(ack.cseq, .uncertain, room: room)
                changes.append(.mark(room, cseq: ack.cseq, .failed(.uncertain)))
                news.append(.failed(room, row.publication.id, .uncertain))
            case .foreign:
                clientRooms[place].outbox.settle(ack.cseq, .free)
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
        guard let place = wanted(room), clientRooms[place].store == .ready, clientRooms[place].isAttached else { return }
        guard (1...clientRooms[place].outbox.next).contains(expected) else { return nonsense(place, at: now, into: &effects) }
        // The hub knows best what it has.
        clientRooms[place].high = expected - 1
        // If the hub misses the same publication again and again, resend it more and more slowly. Otherwise 40 bytes from the hub would
        // cause the client to send a whole window.
        if let missed = clientRooms[place].missed, expected <= missed.expected {
            if let until = clientRooms[place].holdUntil, now < until { return }
            clientRooms[place].missed?.pause = min(missed.pause * 2, policy.resendAfter)
            return hold(place, from: expected, missed.pause, at: now)
        }
        clientRooms[place].missed = ClientRoom.Missed(expected: expected, pause: policy.leastPause)
        clientRooms[place].outbox.rewind(to: expected)
        progress(place, at: now)
        pump(place, at: now, into: &effects)
    }

    /// Handles the refusal of a publication.
    mutating func refuse(_ cseq: Int64, _ refusal: Refusal, of place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let row = clientRooms[place].outbox[cseq], row.isInFlight else { return }
        let room = clientRooms[place].room
        switch refusal.retry {
        case .never where renewal != nil:
            // The client cannot find out what the hub has under these numbers.
            clientRooms[place].outbox.settle(from: cseq, .uncertain)
            settleIfKnown(at: now, into: &effects)
        case .never where row.state == .queued:
            // It may have been stored before, and the hub may have forgotten it.
            let failure = refusal.code == .tooOld ? .expired : OutboxFailure(code: refusal.code, text: refusal.text)
            clientRooms[place].outbox.void(cseq, failure, commit: commits.next)
            let commit = pending(room, news: [.failed(room, row.publication.id, failure)])
            order(commit, [.mark(room, cseq: cseq, .voiding(failure))], into: &effects)
        // A message that was sent twice is refused twice; it stays voiding until the ack of the void.
        case .never: break
        case .now: hold(place, from: cseq, policy.leastPause, at: now)
        case .after where refusal.code == .tooNew:
            // The hub's clock has changed. Once it is known, the time of the message is limited by it.
            effects.append(.send(.ping(0)))
            hold(place, from: cseq, policy.resendAfter, at: now)
        case .after(let milliseconds): hold(place, from: cseq, wait(milliseconds), at: now)
        case .reconnect: break
        }
        if refusal.code == .notJoined, clientRooms[place].standing == .live { nonsense(place, at: now, into: &effects) }
    }

    private mutating func hold(_ place: Int, from cseq: Int64, _ pause: Duration, at now: Moment) {
        clientRooms[place].outbox.rewind(to: cseq)
        clientRooms[place].holdUntil = max(clientRooms[place].holdUntil ?? .start, now + pause)
        progress(place, at: now)
        remind(at: now + pause)
    }

    /// Compares the outbox with what the hub has of this device.
    mutating func judge(high: Int64, id: MessageID?, of place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        let outbox = clientRooms[place].outbox
        var isForeign = high >= outbox.next
        if let id, let row = outbox[high], row.publication.id != id {
            clientRooms[place].outbox.settle(high, .free)
            isForeign = true
        }
        if isForeign { demandRenewal(at: now, into: &effects) }
        settleIfKnown(at: now, into: &effects)
    }
}

extension Publication.Content {
    /// An upper bound of the frame's length in bytes, in JSON, where it is longest.
    fileprivate func frameLength(to room: RoomName) -> Int64 {
        let length =
            switch payload {
            case .json(let bytes): bytes.count
            case .binary(let bytes): (bytes.count + 2) / 3 * 4
            }
        let types = type.utf8.count + (about?.kind.utf8.count ?? 0)
        // One byte of a type may become an escape of six bytes. The constant covers field names, an ID and three numbers.
        return Int64(length + 6 * types + 2 * room.text.utf8.count + 256)
    }
}
