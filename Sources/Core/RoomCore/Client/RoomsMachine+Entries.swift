import MachineCore
import ProtocolCore

/// Incoming entries: states, new entries, gaps.
extension RoomsMachine {
    mutating func take(_ state: HubFrame.RoomState, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(state.room), clientRooms[place].store == .ready else { return }
        var wasAsked = false
        if case .asked = clientRooms[place].standing { wasAsked = true }
        let reads = state.rights.contains(.read)
        guard state.epoch != 0, wasAsked || !state.isSnapshot, (0..<RoomsLimits.number).contains(state.high),
            !reads || clientRooms[place].inbox.fits(state)
        else {
            if wasAsked { answered(place, at: now, into: &effects) }
            nonsense(place, at: now, into: &effects)
            return joinNext(at: now, into: &effects)
        }
        answered(place, at: now, into: &effects)
        let isFirst = !clientRooms[place].isAttached
        clientRooms[place].isAttached = true
        (clientRooms[place].putOffs, clientRooms[place].epoch) = (0, state.epoch)
        (clientRooms[place].head, clientRooms[place].base, clientRooms[place].rights) = (max(state.head, 0), state.base, state.rights)
        clientRooms[place].high = isFirst ? state.high : max(clientRooms[place].high, state.high)
        if reads { store(state, at: place, now, into: &effects) }
        guard clientRooms[place].isAttached else { return }
        heardRead(state.room, state.reads, into: &effects)
        catchUpReading(place, into: &effects)
        if state.hasMore, reads {
            clientRooms[place].standing = .behind
            notify(.catchingUp(head: state.head), of: place, into: &effects)
        } else {
            clientRooms[place].standing = .live
            notifyLive(place, into: &effects)
        }
        if isFirst, clientRooms[place].request.wantsPresence, state.rights.contains(.presence) {
            effects.append(.send(.presence(state.room, clientRooms[place].request.presence)))
        }
        judge(high: state.high, id: state.highID, of: place, at: now, into: &effects)
        guard clientRooms[place].isAttached else { return }
        pump(place, at: now, into: &effects)
        goOn(place, at: now, into: &effects)
        fillUp(place, at: now, into: &effects)
        joinNext(at: now, into: &effects)
    }

    private mutating func notifyLive(_ place: Int, into effects: inout [RoomsEffect]) {
        let phase = RoomPhase.live(head: clientRooms[place].head, rights: clientRooms[place].rights)
        guard clientRooms[place].told != phase else { return }
        clientRooms[place].told = phase
        notifyOnceWritten(.phase(clientRooms[place].room, phase), of: place, into: &effects)
    }

    /// Orders the store to write the entries of a state.
    private mutating func store(_ state: HubFrame.RoomState, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]) {
        guard state.isSnapshot else { return write(state.items, epoch: state.epoch, state.proof, at: place, now, into: &effects) }
        let room = state.room
        let before = clientRooms[place].inbox.cursor
        let isNew = before == .nowhere
        let items = isNew && clientRooms[place].request.start == .now ? [] : state.items
        // A log that went back has other entries under the same numbers.
        if before.epoch != state.epoch || state.to < before.seq { (clientRooms[place].read, clientRooms[place].reads) = (0, [:]) }
        clientRooms[place].inbox.replace(epoch: state.epoch, to: state.to, count: items.count, proof: state.proof)
        clientRooms[place].fillsUp = isNew && clientRooms[place].request.start == .beginning
        let cursor = clientRooms[place].inbox.cursor
        let proof = prove(state.items, at: place, now)
        let commit = pending(room, news: [.replaced(room, cursor, items)] + proof.stored, entries: items[...])
        order(commit, [.replace(room, cursor: cursor, items)] + shown(place) + proof.removed, into: &effects)
        judge(proof, at: now, into: &effects)
    }

    /// Returns the change that stores the proof of the new cursor; it is written in the same transaction.
    private func shown(_ place: Int) -> [StoreChange] { clientRooms[place].inbox.proof.map { [.prove(clientRooms[place].room, $0)] } ?? [] }

    mutating func take(
        _ items: [Entry], epoch: UInt64, _ proof: CursorProof?, in room: RoomName, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = wanted(room), clientRooms[place].store == .ready, clientRooms[place].standing == .live,
            clientRooms[place].rights.contains(.read)
        else { return }
        guard clientRooms[place].unwrittenEntries < policy.unwrittenEntries, clientRooms[place].unwrittenBytes < policy.unwrittenBytes
        else {
            // The store is too slow. The hub keeps the entries, and the client joins again later.
            return clientRooms[place].standing = .behind
        }
        write(items, epoch: epoch, proof, at: place, now, into: &effects)
        pump(place, at: now, into: &effects)
    }

    private mutating func write(
        _ items: [Entry], epoch: UInt64, _ proof: CursorProof?, at place: Int, _ now: Moment, into effects: inout [RoomsEffect]
    ) {
        let room = clientRooms[place].room
        let (taken, isAstray) = clientRooms[place].inbox.take(items, epoch: epoch, proof: proof)
        if let last = taken.last {
            clientRooms[place].head = max(clientRooms[place].head, last.seq)
            let proof = prove(taken, at: place, now)
            let commit = pending(room, news: [.appended(room, epoch: epoch, taken)] + proof.stored, entries: taken[...])
            order(commit, [.append(room, epoch: epoch, taken)] + shown(place) + proof.removed, into: &effects)
            judge(proof, at: now, into: &effects)
            endTyping(of: taken, at: place, into: &effects)
        }
        if isAstray, link.listens { nonsense(place, at: now, into: &effects) }
    }

    /// What entries prove about the outbox.
    private struct Proof {
        var removed: [StoreChange] = []
        var stored: [RoomsNews] = []
        /// Whether another copy of this store has published under this device's numbers.
        var isForeign = false
    }

    /// Reacts to a proof after its removals are ordered: a new outbox must not come before them.
    private mutating func judge(_ proof: Proof, at now: Moment, into effects: inout [RoomsEffect]) {
        if proof.isForeign { demandRenewal(at: now, into: &effects) }
        if !proof.removed.isEmpty { settleIfKnown(at: now, into: &effects) }
    }

    /// Finds the messages of the outbox that these entries prove to be stored.
    private mutating func prove(_ items: [Entry], at place: Int, _ now: Moment) -> Proof {
        let room = clientRooms[place].room
        var proof = Proof()
        for entry in items {
            let position = LogPosition(epoch: clientRooms[place].inbox.cursor.epoch, seq: entry.seq)
            if entry.device == device {
                clientRooms[place].high = max(clientRooms[place].high, min(entry.cseq, RoomsLimits.number))
                if entry.cseq >= clientRooms[place].outbox.next { proof.isForeign = true }
                guard let row = clientRooms[place].outbox[entry.cseq] else { continue }
                guard row.publication.id == entry.id else {
                    proof.isForeign = true
                    continue
                }
                clientRooms[place].outbox.remove(entry.cseq)
                proof.removed.append(.remove(room, cseq: entry.cseq))
                proof.stored.append(.stored(room, entry.id, position))
            } else if !clientRooms[place].outbox.failed.isEmpty, entry.user == link.user,
                let (row, failure) = clientRooms[place].outbox.failure(of: entry.id), failure == .uncertain
            {
                clientRooms[place].outbox.removeFailed(entry.id)
                proof.removed.append(.remove(room, cseq: row.publication.cseq))
                proof.stored.append(.stored(room, entry.id, position))
            }
        }
        if !proof.stored.isEmpty { progress(place, at: now) }
        return proof
    }

    mutating func lag(_ room: RoomName, head: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), clientRooms[place].store == .ready, clientRooms[place].standing == .live else { return }
        clientRooms[place].head = max(clientRooms[place].head, min(head, RoomsLimits.number))
        clientRooms[place].standing = .behind
        notify(.catchingUp(head: clientRooms[place].head), of: place, into: &effects)
        goOn(place, at: now, into: &effects)
    }
}

/// A request for older entries.
struct PageQuestion: Hashable, Sendable {
    var room: RoomName
    /// The app's reference number; nil: a request of the machine itself.
    var reference: Int64?
    var before: Int64
    /// The reference number on the wire.
    var wire: Int64 = 0
    var until = Moment.start
}

extension RoomsMachine {
    mutating func ask(_ question: PageQuestion, limit: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = wanted(question.room), clientRooms[place].isAttached, clientRooms[place].store == .ready,
            clientRooms[place].rights.contains(.read), questions.count < policy.questions, question.before > 0
        else { return giveUp(question, nil, at: now, into: &effects) }
        var question = question
        question.before = min(question.before, RoomsLimits.number - 1)
        lastQuestion += 1
        (question.wire, question.until) = (lastQuestion, now + policy.historyTimeout)
        questions.append(question)
        remind(at: question.until)
        let most = min(max(link.limits.page, 1), RoomsLimits.number - 1)
        effects.append(
            .send(
                .history(
                    ClientFrame.History(
                        reference: question.wire, room: question.room, before: question.before, limit: min(max(limit, 1), most)))))
    }

    /// Ends a request without a result: reports it to the app, or repeats a request of the machine itself after a pause.
    mutating func giveUp(_ question: PageQuestion, _ refusal: Refusal?, at now: Moment, into effects: inout [RoomsEffect]) {
        if question.reference == nil, refusal?.retry != .never {
            guard let place = wanted(question.room) else { return }
            var pause = policy.historyTimeout
            if case .after(let milliseconds) = refusal?.retry { pause = max(pause, wait(milliseconds)) }
            clientRooms[place].fillAgainAt = now + pause
            return remind(at: now + pause)
        }
        if question.reference == nil, let place = wanted(question.room) { clientRooms[place].fillsUp = false }
        effects.append(.news(.noPage(question.room, reference: question.reference ?? 0, refusal)))
    }

    mutating func take(_ page: HubFrame.Page, at now: Moment, into effects: inout [RoomsEffect]) {
        // The answer may come after the time limit.
        guard let index = questions.firstIndex(where: { $0.wire == page.reference }) else { return }
        let question = questions.remove(at: index)
        guard question.room == page.room, let place = wanted(page.room), clientRooms[place].store == .ready,
            page.epoch == clientRooms[place].inbox.cursor.epoch, page.epoch != 0,
            page.items.first.map({ Inbox.isContiguous(page.items, from: $0.seq) }) ?? true,
            page.items.last.map({ $0.seq < question.before }) ?? true
        else { return giveUp(question, nil, at: now, into: &effects) }
        let older = clientRooms[place].inbox.prepend(page.items, epoch: page.epoch)
        let reachedBeginning = page.items.first.map { $0.seq <= page.base } ?? true
        if reachedBeginning { clientRooms[place].fillsUp = false }
        let news = RoomsNews.page(
            page.room, reference: question.reference ?? 0, page.items, reachedBeginning: reachedBeginning)
        guard !older.isEmpty else {
            // If a page leaves a gap to the stored entries, do not request it again at once.
            if question.reference == nil, !reachedBeginning { return giveUp(question, nil, at: now, into: &effects) }
            return effects.append(.news(news))
        }
        let undos = question.reference.map { [CommitQueue.Undo.noPage(page.room, reference: $0)] } ?? []
        order(
            pending(page.room, news: [news], undos: undos, entries: older), [.prepend(page.room, epoch: page.epoch, Array(older))],
            into: &effects)
    }

    /// Requests the next older page of a room that starts at its beginning, once the last page is on disk.
    mutating func fillUp(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        let clientRoom = clientRooms[place]
        guard clientRoom.fillsUp, clientRoom.standing == .live, clientRoom.unwritten == 0, link.isUp, clientRoom.inbox.first > 1,
            !questions.contains(where: { $0.room == clientRoom.room && $0.reference == nil })
        else { return }
        let room = policy.keptEntries - (clientRoom.inbox.cursor.seq - clientRoom.inbox.first + 1)
        guard room > 0 else {
            clientRooms[place].fillsUp = false
            return effects.append(.news(.noPage(clientRoom.room, reference: 0, nil)))
        }
        ask(PageQuestion(room: clientRoom.room, before: clientRoom.inbox.first), limit: room, at: now, into: &effects)
    }
}
