import MachineCore

extension HubMachine {
    /// A queue in which each name appears once; all operations take constant time, apart from cleaning up removed names.
    struct Turns<Name: Hashable & Sendable>: Sendable {
        private var names: [Name] = []
        private var first = 0
        /// The names that still count.
        private var present: Set<Name> = []

        var isEmpty: Bool { present.isEmpty }

        /// Appends a name, unless it is queued already.
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

    /// The queue of pages that are to be read from the log.
    ///
    /// A frame of 70 bytes may request half a megabyte. So users take turns, and the connections of a user take turns. The total of bytes
    /// being read is limited, and nothing is read for a congested connection.
    struct ReadQueue: Sendable {
        struct Read: Sendable {
            var number: Int64
            var order: LogOrder
            /// The maximum number of bytes that the read may bring.
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
        /// The maximum number of bytes that the running reads may bring.
        private(set) var bytes: Int64 = 0

        var isEmpty: Bool { readers.isEmpty && connections.isEmpty && users.isEmpty && underWay.isEmpty && bytes == 0 }

        mutating func add(_ read: Read, for id: ConnectionID, of user: UserName, isCongested: Bool) {
            readers[id, default: Reader(user: user, isHeld: isCongested)].line.append(read)
            queue(id)
        }

        /// Stops reads for a connection until it is released.
        mutating func hold(_ id: ConnectionID) {
            guard readers[id] != nil else { return }
            readers[id]?.isHeld = true
            unqueue(id)
        }

        mutating func release(_ id: ConnectionID) {
            readers[id]?.isHeld = false
            queue(id)
        }

        /// Removes a connection that has ended; returns the reads that will not be made.
        mutating func drop(_ id: ConnectionID) -> [Int64] {
            guard let reader = readers[id] else { return [] }
            unqueue(id)
            readers[id] = nil
            return reader.line.map(\.number)
        }

        /// Records an answer of the log; other answers than those of these reads change nothing.
        mutating func answered(_ number: Int64) {
            guard let (id, size) = underWay.removeValue(forKey: number) else { return }
            bytes -= size
            readers[id]?.underWay -= 1
            guard let reader = readers[id] else { return }
            if reader.underWay == 0, reader.line.isEmpty { readers[id] = nil } else { queue(id) }
        }

        /// Returns the next read if one may start, and counts it as running.
        ///
        /// - Parameters:
        ///   - most: No read starts while the running reads may bring this many bytes.
        ///   - each: The maximum number of running reads per connection.
        mutating func next(within most: Int64, each: Int) -> Read? {
            while bytes < most, let user = users.popFirst() {
                guard let id = connections[user]?.popFirst() else { continue }
                if connections[user]?.isEmpty == false { users.append(user) } else { connections[user] = nil }
                guard let reader = readers[id], !reader.line.isEmpty else { continue }
                // It is queued again when one of its reads is answered.
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

// Reads from the log for clients: their amount and their order.
extension HubMachine {
    /// Queues the read of a page.
    mutating func read(
        _ number: Int64, _ order: LogOrder, limit: Int64, of name: RoomName, for id: ConnectionID, into effects: inout [HubEffect]
    ) {
        guard let connection = connections[id], let user = connection.identity?.user else { return }
        // A small room brings no more than it has; each entry has some overhead.
        let bytes = min(policy.pageBytes, max(rooms[name]?.bytes ?? 0, 0) + 320 * max(limit, 1))
        reads.add(.init(number: number, order: order, bytes: bytes), for: id, of: user, isCongested: connection.isCongested)
    }

    /// Starts the reads whose turn has come.
    mutating func readOn(at now: Moment, into effects: inout [HubEffect]) {
        // A read that is not made may lead to further reads; the same loop handles them.
        guard !isReadingOn else { return }
        isReadingOn = true
        defer { isReadingOn = false }
        while let read = reads.next(within: policy.readBytes, each: policy.reads) {
            guard let question = questions[read.number], let room = rooms[question.room], room.phase == .open,
                room.generation == question.generation
            else {
                // The room was closed meanwhile: do not ask the log, and handle the request as failed.
                reads.answered(read.number)
                settle(read.number, LogPage([], base: 0), at: now, into: &effects)
                continue
            }
            effects.append(.log(read.order))
        }
    }

    // MARK: Budgets

    /// Returns the milliseconds to wait before the next page; 0: now.
    ///
    /// The size of a page is known only after it was read. It is charged then, and the next page waits for it.
    func pageWait(of id: ConnectionID, at now: Moment) -> Int64 {
        guard let connection = connections[id], let user = connection.identity?.user else { return 0 }
        let time = now.offset.wholeNanoseconds
        return max(
            connection.meter.pages.wait(for: 0, policy.connection.pages, at: time),
            users[user]?.meter.pages.wait(for: 0, policy.user.pages, at: time) ?? 0,
            addresses[connection.address]?.meter.pages.wait(for: 0, policy.address.pages, at: time) ?? 0)
    }

    /// Charges a client for stored bytes that were sent on its request.
    mutating func takePage(of bytes: Int64, by id: ConnectionID, at now: Moment) {
        guard bytes > 0, let address = connections[id]?.address, let user = connections[id]?.identity?.user else { return }
        let time = now.offset.wholeNanoseconds
        connections[id]?.meter.pages.take(bytes, policy.connection.pages, at: time)
        users[user]?.meter.pages.take(bytes, policy.user.pages, at: time)
        addresses[address]?.meter.pages.take(bytes, policy.address.pages, at: time)
    }

    // MARK: Pending requests

    /// Returns whether a client, its user and the hub may have one more pending request that is not a join.
    func mayAsk(_ id: ConnectionID, most: Int) -> Bool {
        guard let connection = connections[id], let user = connection.identity?.user else { return false }
        return connection.questions < most && users[user]?.questions ?? 0 < policy.userQuestions && questions.count < policy.allQuestions
    }

    mutating func ask(_ question: Question, _ number: Int64) {
        questions[number] = question
        guard let id = question.connection, let user = connections[id]?.identity?.user else { return }
        connections[id]?.questions += 1
        users[user]?.questions += 1
    }

    /// Records that a request was answered; requests of an ended connection no longer count.
    mutating func answered(_ id: ConnectionID) {
        guard let user = connections[id]?.identity?.user else { return }
        connections[id]?.questions -= 1
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
        guard let connection = connections[id], let member = rooms[name]?.members[id], let head = rooms[name]?.head,
            let base = rooms[name]?.base
        else {
            return refuse(.notJoined, .now, "not joined")
        }
        guard member.rights.contains(.read) else { return refuse(.rights, .never, "no right to read") }
        guard member.hasState, rooms[name]?.phase == .open else { return refuse(.storage, .after(1000), "the room is being opened") }
        guard !connection.isCongested, mayAsk(id, most: policy.fetches) else {
            return refuse(.rate, .after(1000), "too many requests at once")
        }
        // A client that has used up its budget waits for it first, and is not charged for asking.
        var wait = pageWait(of: id, at: now)
        if wait == 0 { wait = admit(by: id, at: now) }
        guard wait == 0 else { return refuse(.rate, .after(wait), "too many requests") }
        let before = min(question.before, head + 1)
        let limit = min(max(question.limit, 1), policy.limits.page)
        let number = nextNumber()
        let asked = Question(
            room: name, connection: id, generation: rooms[name]?.generation ?? 0, purpose: .history(reference: reference, before: before))
        guard before > base else {
            return notifyPage(reference, before: before, asked, LogPage([], base: base), to: id, at: now, into: &effects)
        }
        ask(asked, number)
        let order = LogOrder.fetchBefore(number, name, seq: before, limit: limit, bytes: policy.pageBytes)
        read(number, order, limit: limit, of: name, for: id, into: &effects)
        readOn(at: now, into: &effects)
    }

    mutating func notifyPage(
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

// "Presence": the full member list, for members that have just joined or ask for it.
extension HubMachine {
    /// Sends a member the full list: now if none was sent in the room lately, and otherwise later, together with others that wait for it.
    ///
    /// So a room costs one frame per segment and interval, however often members ask.
    mutating func oweSegments(of name: RoomName, to id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        rooms[name]?.askers.insert(id)
        guard !alarms.isSet(.segments(name)) else { return }
        guard let told = rooms[name]?.toldSegments, told + policy.gatherPresence > now else {
            return notifySegments(of: name, at: now, into: &effects)
        }
        alarms.set(.segments(name), at: told + policy.gatherPresence)
    }

    /// Sends the full list to those who wait for it, as far as the budgets for ephemeral frames allow; the others continue to wait.
    ///
    /// It carries the versions that all have received, so later changes follow it.
    mutating func notifySegments(of name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let askers = rooms[name]?.askers.ids, !askers.isEmpty else { return }
        let segments = segments(of: name)
        let bytes = segments.reduce(0) { $0 + $1.size }
        var told: [ConnectionID] = []
        rooms[name]?.askers.removeAll()
        for id in askers {
            guard let member = rooms[name]?.members[id], member.isPresent else { continue }
            if spendsSegments(bytes, on: member.user, in: name, at: now) {
                told.append(id)
                // A member gets changes only after the list that they change.
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

    /// Returns the segments of all nodes, this one first.
    private mutating func segments(of name: RoomName) -> [HubFrame.RoomMembers] {
        guard let heard = rooms[name]?.attendance.heard, let neighbours = rooms[name]?.neighbours else { return [] }
        let own = rooms[name]?.attendance.segment(
            of: name, node: node, incarnation: incarnation, version: heard, limit: policy.limits.members)
        return [own].compactMap(\.self) + neighbours.sorted { $0.key < $1.key }.map(\.value.segment)
    }

    /// Returns whether a user may get this many bytes, and takes them from the budgets of user, room and hub.
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
