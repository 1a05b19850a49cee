import MachineCore
import ProtocolCore

/// A question for older entries.
struct PageQuestion: Hashable, Sendable {
    var room: RoomName
    /// The app's name for it; nil: the machine asks by itself.
    var reference: Int64?
    var before: Int64
    /// The name on the wire.
    var wire: Int64 = 0
    var until = Moment.start
}

extension RoomsMachine {
    mutating func ask(_ question: PageQuestion, limit: Int64, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = wanted(question.room), seats[place].isAttached, seats[place].store == .ready,
            seats[place].rights.contains(.read), questions.count < policy.questions, question.before > 0
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

    /// There is no answer: the app is told, and what the machine asked for itself it asks for again after a while.
    mutating func giveUp(_ question: PageQuestion, _ refusal: Refusal?, at now: Moment, into effects: inout [RoomsEffect]) {
        if question.reference == nil, refusal?.retry != .never {
            guard let place = wanted(question.room) else { return }
            var pause = policy.historyTimeout
            if case .after(let milliseconds) = refusal?.retry { pause = max(pause, wait(milliseconds)) }
            seats[place].fillAgainAt = now + pause
            return remind(at: now + pause)
        }
        if question.reference == nil, let place = wanted(question.room) { seats[place].fillsUp = false }
        effects.append(.news(.noPage(question.room, reference: question.reference ?? 0, refusal)))
    }

    mutating func take(_ page: HubFrame.Page, at now: Moment, into effects: inout [RoomsEffect]) {
        // An answer may come after its time.
        guard let index = questions.firstIndex(where: { $0.wire == page.reference }) else { return }
        let question = questions.remove(at: index)
        guard question.room == page.room, let place = wanted(page.room), seats[place].store == .ready,
            page.epoch == seats[place].inbox.cursor.epoch, page.epoch != 0,
            page.items.first.map({ Inbox.isContiguous(page.items, from: $0.seq) }) ?? true,
            page.items.last.map({ $0.seq < question.before }) ?? true
        else { return giveUp(question, nil, at: now, into: &effects) }
        let older = seats[place].inbox.prepend(page.items, epoch: page.epoch)
        let reachedBeginning = page.items.first.map { $0.seq <= page.base } ?? true
        if reachedBeginning { seats[place].fillsUp = false }
        let news = RoomsNews.page(
            page.room, reference: question.reference ?? 0, page.items, reachedBeginning: reachedBeginning)
        guard !older.isEmpty else {
            // A page that does not touch what is here would be asked for again and again.
            if question.reference == nil, !reachedBeginning { return giveUp(question, nil, at: now, into: &effects) }
            return effects.append(.news(news))
        }
        let regrets = question.reference.map { [CommitLedger.Regret.noPage(page.room, reference: $0)] } ?? []
        order(
            pending(page.room, news: [news], regrets: regrets, entries: older), [.prepend(page.room, epoch: page.epoch, Array(older))],
            into: &effects)
    }

    /// Fetches the next older page of a room that is wanted from its beginning, once the last one is on disk.
    mutating func fillUp(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        let seat = seats[place]
        guard seat.fillsUp, seat.standing == .live, seat.unwritten == 0, link.isUp, seat.inbox.first > 1,
            !questions.contains(where: { $0.room == seat.room && $0.reference == nil })
        else { return }
        let room = policy.keptEntries - (seat.inbox.cursor.seq - seat.inbox.first + 1)
        guard room > 0 else {
            seats[place].fillsUp = false
            return effects.append(.news(.noPage(seat.room, reference: 0, nil)))
        }
        ask(PageQuestion(room: seat.room, before: seat.inbox.first), limit: room, at: now, into: &effects)
    }
}
