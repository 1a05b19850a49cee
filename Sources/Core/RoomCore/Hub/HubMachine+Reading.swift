import MachineCore

// What is read from the log for clients: how much at once, and in whose turn.
extension HubMachine {
    /// Lets a page be read when its turn comes.
    mutating func read(
        _ number: Int64, _ order: LogOrder, limit: Int64, of name: RoomName, for id: ConnectionID, into effects: inout [HubEffect]
    ) {
        guard let visit = visits[id], let user = visit.identity?.user else { return }
        // A small room brings no more than it has; each entry takes some bytes beside its own.
        let bytes = min(policy.pageBytes, max(rooms[name]?.bytes ?? 0, 0) + 320 * max(limit, 1))
        reads.add(.init(number: number, order: order, bytes: bytes), for: id, of: user, isCongested: visit.isCongested)
    }

    /// Begins the reads whose turn it is.
    mutating func readOn(at now: Moment, into effects: inout [HubEffect]) {
        // What follows from a read that is not made may ask for others: they have their turn in the same loop.
        guard !isReadingOn else { return }
        isReadingOn = true
        defer { isReadingOn = false }
        while let read = reads.next(within: policy.readBytes, each: policy.reads) {
            guard let question = questions[read.number], let room = rooms[question.room], room.phase == .open,
                room.generation == question.generation
            else {
                // The room was closed meanwhile: the log is not asked, and whoever has asked hears what that means.
                reads.answered(read.number)
                settle(read.number, LogPage([], base: 0), at: now, into: &effects)
                continue
            }
            effects.append(.log(read.order))
        }
    }

    // MARK: Budgets

    /// How long to wait before the next page, in milliseconds; 0: now.
    ///
    /// What a page has is known when it was read: it is paid for then, and the next one waits for that.
    func pageWait(of id: ConnectionID, at now: Moment) -> Int64 {
        guard let visit = visits[id], let user = visit.identity?.user else { return 0 }
        let time = now.offset.wholeNanoseconds
        return max(
            visit.meter.pages.wait(for: 0, policy.connection.pages, at: time),
            users[user]?.meter.pages.wait(for: 0, policy.user.pages, at: time) ?? 0,
            addresses[visit.address]?.meter.pages.wait(for: 0, policy.address.pages, at: time) ?? 0)
    }

    /// A client was told so many stored bytes because it asked.
    mutating func takePage(of bytes: Int64, by id: ConnectionID, at now: Moment) {
        guard bytes > 0, let address = visits[id]?.address, let user = visits[id]?.identity?.user else { return }
        let time = now.offset.wholeNanoseconds
        visits[id]?.meter.pages.take(bytes, policy.connection.pages, at: time)
        users[user]?.meter.pages.take(bytes, policy.user.pages, at: time)
        addresses[address]?.meter.pages.take(bytes, policy.address.pages, at: time)
    }

    // MARK: Questions

    /// Whether a client, its user and the hub may have one more question open that is no join.
    func mayAsk(_ id: ConnectionID, most: Int) -> Bool {
        guard let visit = visits[id], let user = visit.identity?.user else { return false }
        return visit.questions < most && users[user]?.questions ?? 0 < policy.userQuestions && questions.count < policy.allQuestions
    }

    mutating func ask(_ question: Question, _ number: Int64) {
        questions[number] = question
        guard let id = question.connection, let user = visits[id]?.identity?.user else { return }
        visits[id]?.questions += 1
        users[user]?.questions += 1
    }

    /// A question is no longer open; those of a connection that has ended are not counted any more.
    mutating func answered(_ id: ConnectionID) {
        guard let user = visits[id]?.identity?.user else { return }
        visits[id]?.questions -= 1
        users[user]?.questions -= 1
    }
}
