import MachineCore

// "Joining and resuming": the answers to a join.
extension HubMachine {
    mutating func notifyState(
        of name: RoomName, to id: ConnectionID, _ items: [Entry], isSnapshot: Bool, at now: Moment, into effects: inout [HubEffect]
    ) {
        let isCongested = connections[id]?.isCongested ?? true
        let wasWatching = rooms[name]?.watchers.contains(id) ?? false
        guard
            let state = rooms[name]?.state(
                of: name, for: id, items: items, isSnapshot: isSnapshot, isCongested: isCongested, reads: policy.limits.members, key: proofs
            )
        else { return }
        if isSnapshot { counts.snapshots += 1 } else { counts.resumes += 1 }
        counts.delivered += UInt64(items.count)
        takePage(of: items.size, by: id, at: now)
        effects.append(.send(.state(state), to: id))
        attend(id, in: name, isComplete: !state.hasMore || !wasWatching, at: now, into: &effects)
    }

    /// Handles the result of a read for a join or a page.
    mutating func fetched(_ number: Int64, _ page: LogPage, at now: Moment, into effects: inout [HubEffect]) {
        reads.answered(number)
        settle(number, page, at: now, into: &effects)
        readOn(at: now, into: &effects)
    }

    mutating func settle(_ number: Int64, _ page: LogPage, at now: Moment, into effects: inout [HubEffect]) {
        guard let question = questions.removeValue(forKey: number), let id = question.connection else { return }
        if case .history(let reference, let before) = question.purpose {
            answered(id)
            return notifyPage(reference, before: before, question, page, to: id, at: now, into: &effects)
        }
        connections[id]?.fetches -= 1
        complete(question, number, page, for: id, at: now, into: &effects)
        advance(id, at: now, into: &effects)
    }

    private mutating func complete(
        _ question: Question, _ number: Int64, _ page: LogPage, for id: ConnectionID, at now: Moment, into effects: inout [HubEffect]
    ) {
        let name = question.room
        guard let member = rooms[name]?.members[id], member.phase == .fetching(number) else { return }
        rooms[name]?.members[id]?.phase = .asking
        // The page is useless if the log was opened again since, and must not be sent to a client that lost the right.
        guard rooms[name]?.phase == .open, rooms[name]?.generation == question.generation,
            rooms[name]?.members[id]?.rights.contains(.read) == true
        else { return pursue(id, in: name, at: now, into: &effects) }
        rooms[name]?.raiseBase(to: page.base, below: page.below)
        var entries = page.entries
        if case .resume(let after) = question.purpose, !member.isChecked {
            // The entry at the cursor was read to check its proof. If retention has deleted it meanwhile, its stamp is known.
            let last = entries.first.flatMap { $0.seq == after ? $0 : nil }
            if rooms[name]?.evidence(of: member.join, proofs, last) == .rewound { return renew(name, into: &effects) }
            rooms[name]?.members[id]?.isChecked = true
            if last != nil {
                entries.removeFirst()
                // The page held nothing else.
                if entries.isEmpty { return pursue(id, in: name, at: now, into: &effects) }
            }
        }
        let (head, first) = (rooms[name]?.head ?? 0, rooms[name]?.base ?? 1)
        switch question.purpose {
        case .resume(let after) where entries.isContiguous && entries.first?.seq == after &+ 1:
            let items = rooms[name]?.complete(entries, limit: policy.limits.page, bytes: policy.pageBytes) ?? []
            notifyState(of: name, to: id, items, isSnapshot: false, at: now, into: &effects)
        case .resume(let after) where first - 1 > after:
            // Retention has passed the cursor meanwhile: send a snapshot instead.
            pursue(id, in: name, at: now, into: &effects)
        case .snapshot(let limit) where entries.isContiguous && entries.isEmpty == (first > head):
            let items = rooms[name]?.complete(entries, limit: .max, bytes: policy.pageBytes) ?? []
            notifyState(of: name, to: id, Array(items.suffix(Int(clamping: limit))), isSnapshot: true, at: now, into: &effects)
        default: refuseJoin(id, cannotRead(name), at: now, into: &effects)
        }
    }

    mutating func notFetched(_ number: Int64, isDamaged: Bool, at now: Moment, into effects: inout [HubEffect]) {
        reads.answered(number)
        defer { readOn(at: now, into: &effects) }
        guard let question = questions.removeValue(forKey: number) else { return }
        if case .repeated(let request, _, _) = question.purpose {
            return effects.append(.answer(request, .refused(cannotRead(question.room))))
        }
        guard let id = question.connection else { return }
        if case .duplicate = question.purpose {
            // Without an ack the client sends it again. To report it as "too old to be known" would be wrong.
            return answered(id)
        }
        if case .history(let reference, _) = question.purpose {
            answered(id)
            guard connections[id] != nil else { return }
            var refusal = cannotRead(question.room)
            refusal.reference = reference
            return say(refusal, to: id, into: &effects)
        }
        connections[id]?.fetches -= 1
        if rooms[question.room]?.members[id]?.phase == .fetching(number) {
            cannotResume(id, question, isDamaged: isDamaged, at: now, into: &effects)
        }
        advance(id, at: now, into: &effects)
    }

    /// Refuses a join, unless only the entry at the cursor was needed and is damaged: the entries after it may be intact.
    ///
    /// An entry that cannot be read for the moment is read when the client comes again. A state would give the client a new proof, and
    /// what the current proof shows would be lost.
    private mutating func cannotResume(
        _ id: ConnectionID, _ question: Question, isDamaged: Bool, at now: Moment, into effects: inout [HubEffect]
    ) {
        let name = question.room
        guard isDamaged, case .resume = question.purpose, let room = rooms[name], let member = room.members[id], !member.isChecked,
            room.evidence(of: member.join, proofs) == .unread
        else { return refuseJoin(id, cannotRead(name), at: now, into: &effects) }
        rooms[name]?.members[id]?.isChecked = true
        rooms[name]?.members[id]?.phase = .asking
        pursue(id, in: name, at: now, into: &effects)
    }

    func cannotRead(_ name: RoomName) -> Refusal { Refusal(.storage, retry: .after(1000), room: name, "the log cannot be read now") }
}
