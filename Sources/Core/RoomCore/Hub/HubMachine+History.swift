import MachineCore

// "History backwards".
extension HubMachine {
    mutating func history(_ question: ClientFrame.History, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        let (name, reference) = (question.room, question.reference)
        func refuse(_ code: Refusal.Code, _ retry: Refusal.Retry, _ text: String) {
            say(Refusal(code, retry: retry, room: name, reference: reference, text), to: id, into: &effects)
        }
        guard let visit = visits[id], let member = rooms[name]?.members[id], let head = rooms[name]?.head, let base = rooms[name]?.base
        else {
            return refuse(.notJoined, .now, "not joined")
        }
        guard member.rights.contains(.read) else { return refuse(.rights, .never, "no right to read") }
        guard member.hasState, rooms[name]?.phase == .open else { return refuse(.storage, .after(1000), "the room is being opened") }
        guard !visit.isCongested, mayAsk(id, most: policy.fetches) else { return refuse(.rate, .after(1000), "too many questions at once") }
        // Whoever has had much waits for that first, and does not pay for asking.
        var wait = pageWait(of: id, at: now)
        if wait == 0 { wait = admit(by: id, at: now) }
        guard wait == 0 else { return refuse(.rate, .after(wait), "too many questions") }
        let before = min(question.before, head + 1)
        let limit = min(max(question.limit, 1), policy.limits.page)
        let number = nextNumber()
        let asked = Question(
            room: name, connection: id, generation: rooms[name]?.generation ?? 0, purpose: .history(reference: reference, before: before))
        guard before > base else {
            return tellPage(reference, before: before, asked, LogPage([], base: base), to: id, at: now, into: &effects)
        }
        ask(asked, number)
        let order = LogOrder.fetchBefore(number, name, seq: before, limit: limit, bytes: policy.pageBytes)
        read(number, order, limit: limit, of: name, for: id, into: &effects)
        readOn(at: now, into: &effects)
    }

    mutating func tellPage(
        _ reference: Int64, before: Int64, _ question: Question, _ found: LogPage, to id: ConnectionID, at now: Moment,
        into effects: inout [HubEffect]
    ) {
        let (name, entries, base) = (question.room, found.entries, found.base)
        guard let member = rooms[name]?.members[id], member.rights.contains(.read), let epoch = rooms[name]?.epoch else { return }
        let isWhole = entries.isContiguous && (entries.last.map { $0.seq == before - 1 } ?? (base >= before))
        guard rooms[name]?.phase == .open, rooms[name]?.generation == question.generation, isWhole else {
            var refusal = cannotRead(name)
            refusal.reference = reference
            return say(refusal, to: id, into: &effects)
        }
        rooms[name]?.raiseBase(to: base, below: found.below)
        takePage(of: entries.size, by: id, at: now)
        effects.append(.send(.page(.init(reference: reference, room: name, epoch: epoch, items: entries, base: base)), to: id))
    }
}
