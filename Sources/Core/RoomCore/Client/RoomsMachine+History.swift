import MachineCore
import ProtocolCore

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
