import MachineCore

extension HubMachine {
    /// Names that take turns, each once; in constant time, but for what was taken out.
    struct Turns<Name: Hashable & Sendable>: Sendable {
        private var names: [Name] = []
        private var first = 0
        /// Those of the names that still count.
        private var present: Set<Name> = []

        var isEmpty: Bool { present.isEmpty }

        /// Puts a name last, unless its turn is to come already.
        mutating func append(_ name: Name) {
            guard present.insert(name).inserted else { return }
            names.append(name)
            guard names.count - first > 2 * present.count + 32 else { return }
            var kept: Set<Name> = []
            names = names[first...].filter { present.contains($0) && kept.insert($0).inserted }
            first = 0
        }

        mutating func remove(_ name: Name) { present.remove(name) }

        mutating func popFirst() -> Name? {
            while first < names.count {
                let name = names[first]
                first += 1
                if first > 32, first * 2 > names.count {
                    names.removeFirst(first)
                    first = 0
                }
                if present.remove(name) != nil { return name }
            }
            (names, first) = ([], 0)
            return nil
        }
    }

    /// Pages that are to be read from the log.
    ///
    /// A frame of 70 bytes asks for half a megabyte. So users take turns, and the connections of a user; what is read at once has a bound in
    /// bytes, in all; and nothing is read for a connection that has not yet taken what it was told before.
    struct ReadQueue: Sendable {
        struct Read: Sendable {
            var number: Int64
            var order: LogOrder
            /// How many bytes it may bring.
            var bytes: Int64
        }
        private struct Reader: Sendable {
            let user: UserName
            var line: [Read] = []
            var underWay = 0
            var isHeld = false
        }
        private var readers: [ConnectionID: Reader] = [:]
        private var connections: [UserName: Turns<ConnectionID>] = [:]
        private var users = Turns<UserName>()
        private var underWay: [Int64: (connection: ConnectionID, bytes: Int64)] = [:]
        /// Bytes that the reads under way may bring.
        private(set) var bytes: Int64 = 0

        var isEmpty: Bool { readers.isEmpty && connections.isEmpty && users.isEmpty && underWay.isEmpty && bytes == 0 }

        mutating func add(_ read: Read, for id: ConnectionID, of user: UserName, isCongested: Bool) {
            readers[id, default: Reader(user: user, isHeld: isCongested)].line.append(read)
            queue(id)
        }

        /// Reads nothing more for a connection, until it is released.
        mutating func hold(_ id: ConnectionID) {
            guard readers[id] != nil else { return }
            readers[id]?.isHeld = true
            unqueue(id)
        }

        mutating func release(_ id: ConnectionID) {
            readers[id]?.isHeld = false
            queue(id)
        }

        /// A connection has ended: the reads for it that will not be made.
        mutating func drop(_ id: ConnectionID) -> [Int64] {
            guard let reader = readers[id] else { return [] }
            unqueue(id)
            readers[id] = nil
            return reader.line.map(\.number)
        }

        /// The log has answered; what it was asked beside these reads changes nothing.
        mutating func answered(_ number: Int64) {
            guard let (id, size) = underWay.removeValue(forKey: number) else { return }
            bytes -= size
            readers[id]?.underWay -= 1
            guard let reader = readers[id] else { return }
            if reader.underWay == 0, reader.line.isEmpty { readers[id] = nil } else { queue(id) }
        }

        /// The read whose turn it is, if one may begin; it is under way from now on.
        ///
        /// - Parameters:
        ///   - most: No more begin once those under way may bring so many bytes.
        ///   - each: So many are under way for one connection at most.
        mutating func next(within most: Int64, each: Int) -> Read? {
            while bytes < most, let user = users.popFirst() {
                guard let id = connections[user]?.popFirst() else { continue }
                if connections[user]?.isEmpty == false { users.append(user) } else { connections[user] = nil }
                guard let reader = readers[id], !reader.line.isEmpty else { continue }
                // Its turn comes again when a read for it is answered.
                guard reader.underWay < each else { continue }
                let read = reader.line[0]
                readers[id]?.line.removeFirst()
                readers[id]?.underWay += 1
                underWay[read.number] = (id, read.bytes)
                bytes += read.bytes
                queue(id)
                return read
            }
            return nil
        }

        private mutating func queue(_ id: ConnectionID) {
            guard let reader = readers[id], !reader.isHeld, !reader.line.isEmpty else { return }
            connections[reader.user, default: Turns()].append(id)
            users.append(reader.user)
        }

        private mutating func unqueue(_ id: ConnectionID) {
            guard let user = readers[id]?.user else { return }
            connections[user]?.remove(id)
            guard connections[user]?.isEmpty == true else { return }
            connections[user] = nil
            users.remove(user)
        }
    }
}

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

// "Presence": all who are present in a room, for members who have just come or ask.
extension HubMachine {
    /// Tells a member all who are present: now if nobody of the room was told of late, otherwise once together with others who wait for it.
    ///
    /// So a room costs one frame for each segment and span of time, whoever asks how often.
    mutating func oweSegments(of name: RoomName, to id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        rooms[name]?.askers.insert(id)
        guard !alarms.isSet(.segments(name)) else { return }
        guard let told = rooms[name]?.toldSegments, told + policy.gatherPresence > now else {
            return tellSegments(of: name, at: now, into: &effects)
        }
        alarms.set(.segments(name), at: told + policy.gatherPresence)
    }

    /// Tells those who wait for it all that is known, as far as the budgets of what nobody stores go; the others wait on.
    ///
    /// It is told under the versions that all have heard: what follows then follows these.
    mutating func tellSegments(of name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let askers = rooms[name]?.askers.ids, !askers.isEmpty else { return }
        let segments = segments(of: name)
        let bytes = segments.reduce(0) { $0 + $1.size }
        var told: [ConnectionID] = []
        rooms[name]?.askers.removeAll()
        for id in askers {
            guard let member = rooms[name]?.members[id], member.isPresent else { continue }
            if spendsSegments(bytes, on: member.user, in: name, at: now) {
                told.append(id)
                // Changes follow what they change.
                rooms[name]?.watchers.insert(id)
            } else {
                rooms[name]?.askers.insert(id)
            }
        }
        if rooms[name]?.askers.isEmpty == false { alarms.set(.segments(name), at: now + policy.gatherPresence) }
        guard let first = told.first else { return }
        rooms[name]?.toldSegments = now
        for segment in segments {
            effects.append(told.count == 1 ? .send(.members(segment), to: first) : .fanOut(.members(segment), to: told))
        }
    }

    /// The segments of all nodes, this one's first.
    private mutating func segments(of name: RoomName) -> [HubFrame.RoomMembers] {
        guard let heard = rooms[name]?.attendance.heard, let neighbours = rooms[name]?.neighbours else { return [] }
        let own = rooms[name]?.attendance.segment(
            of: name, node: node, incarnation: incarnation, version: heard, limit: policy.limits.members)
        return [own].compactMap(\.self) + neighbours.sorted { $0.key < $1.key }.map(\.value.segment)
    }

    /// Whether a user may be told so many bytes: takes them from what the user has told, and from what the room and the hub tell.
    private mutating func spendsSegments(_ bytes: Int64, on user: UserName, in name: RoomName, at now: Moment) -> Bool {
        let time = now.offset.wholeNanoseconds
        let wait = max(
            rooms[name]?.deliveries.wait(for: bytes, policy.roomDeliveries, at: time) ?? 0,
            users[user]?.meter.deliveries.wait(for: bytes, policy.userDeliveries, at: time) ?? 0,
            deliveries.wait(for: bytes, policy.deliveries, at: time))
        guard wait == 0 else { return false }
        users[user]?.meter.deliveries.take(bytes, policy.userDeliveries, at: time)
        tookDeliveries(bytes, in: name, at: now)
        return true
    }
}
