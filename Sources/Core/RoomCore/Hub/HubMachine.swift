package import MachineCore

/// The whole hub as rules: who is there, what is in which order, who is told.
///
/// It follows docs/rooms-protocol.md. One owner applies what happens and carries out the effects in order: what is said to one connection
/// arrives in that order, and what is ordered of one room is done in that order. Nothing that a client sends grows without a bound of
/// ``HubPolicy``. A publication in a room of many costs the same as in a room of few: its members are handed over as one array.
package struct HubMachine: Machine {
    package typealias Input = HubInput
    package typealias Effect = HubEffect

    let policy: HubPolicy
    let node: String
    let incarnation: UInt64
    /// Proves cursors; nil: they go without.
    let proofs: ProofKey?
    var chance: SplitMix64
    /// The calendar's last reading, and when it came.
    var calendar: (milliseconds: Int64, at: Moment) = (0, .start)
    /// The log's time, by which it forgets devices; 0 before it has said so.
    var logTime: Int64 = 0
    var visits = Table<ConnectionID, Visit>()
    var devices: [OwnedDevice: Presentee] = [:]
    /// Devices whose connections have said hello and are not known yet.
    var greetings: [DeviceID: Greeting] = [:]
    /// Devices in rooms, and whose they are.
    var ownerships: [DeviceID: Ownership] = [:]
    /// Owners that the log has named to others.
    var owners = NamedOwners()
    var users: [UserName: Party] = [:]
    var addresses: [String: Party] = [:]
    var rooms = Table<RoomName, Room>()
    /// Who is in which room.
    var holdings = Holdings()
    /// Rooms that nobody is in: under pressure they are let go before their time.
    var deserted = Pool()
    var questions: [Int64: Question] = [:]
    /// Pages of the log that clients wait for.
    var reads = ReadQueue()
    var isReadingOn = false
    /// The last number given to a question or an append.
    var counter: Int64 = 0
    /// Other nodes, and when they were heard.
    var nodes: [String: Moment] = [:]
    var alarms = Alarms<Alarm>()
    var isStopping = false
    /// Rooms in which something was pending when it stopped, and still is.
    var unsettled: Set<RoomName> = []
    /// The last version of presence that was told of any room that was let go: who knows such a room drops what is older.
    var toldVersion: Int64 = 0
    /// Bytes of the entries that all rooms keep in memory.
    var tailBytes: Int64 = 0
    /// Bytes of what nobody stores, each as often as it is told.
    var deliveries = Bucket()
    /// How many bytes may yet be stored, in all, as was said last.
    var space = Int64.max
    var counts = HubFigures()

    /// A hub where nobody is.
    ///
    /// - Parameters:
    ///   - node: The name of this process among those that make up the hub.
    ///   - incarnation: Another number for each life of the process.
    ///   - seed: For the names of connections, and the times to stay away.
    ///   - proofs: The key of the log, with which cursors are proved; nil: they go without.
    package init(policy: HubPolicy = HubPolicy(), node: String = "hub", incarnation: UInt64, seed: UInt64, proofs: ProofKey? = nil) {
        (self.policy, self.node, self.incarnation, self.proofs) = (policy, node, incarnation, proofs)
        chance = SplitMix64(seed: seed)
    }

    /// What the hub has counted.
    package var figures: HubFigures {
        var figures = counts
        (figures.rooms, figures.connections) = (rooms.count, visits.count)
        return figures
    }

    /// Whether it remembers nothing of anybody.
    package var isEmpty: Bool {
        visits.isEmpty && devices.isEmpty && greetings.isEmpty && ownerships.isEmpty && users.isEmpty && addresses.isEmpty && rooms.isEmpty
            && owners.isEmpty && questions.isEmpty && reads.isEmpty && tailBytes == 0 && holdings.isEmpty && deserted.isEmpty
    }

    package var deadline: Moment? { alarms.next }

    package mutating func handle(_ input: HubInput, at now: Moment, into effects: inout [HubEffect]) {
        wake(at: now, into: &effects)
        switch input {
        case .opened(let id, let address): open(id, from: address, at: now, into: &effects)
        case .received(let id, let frame, let bytes): receive(frame, bytes: bytes, from: id, at: now, into: &effects)
        case .malformed(let id, let text): end(id, Refusal(.malformed, text), at: now, into: &effects)
        case .unreadable(let id, let envelope, let text, let bytes):
            receive(unreadable: envelope, text, bytes: bytes, from: id, at: now, into: &effects)
        case .unheard(let id, let envelope, let text, let bytes):
            receive(unheard: envelope.room, text, bytes: bytes, from: id, at: now, into: &effects)
        case .gone(let id): drop(id, at: now, into: &effects)
        case .identified(let id, let identity): identify(id, as: identity, at: now, into: &effects)
        case .unidentified(let id, let refusal): decline(id, refusal, at: now, into: &effects)
        case .congested(let id): congest(id, at: now)
        case .drained(let id): relieve(id, at: now, into: &effects)
        case .log(let reply): take(reply, at: now, into: &effects)
        case .heard(let message): hear(message, at: now, into: &effects)
        case .publish(let request, let room, let device, let user, let publication):
            publish(publication, of: device, by: user, in: room, for: request, at: now, into: &effects)
        case .space(let bytes): space = bytes
        case .calendar(let milliseconds): adjust(to: milliseconds, at: now, into: &effects)
        case .stop: stop(at: now, into: &effects)
        }
    }

    package mutating func wake(at now: Moment, into effects: inout [HubEffect]) {
        while let alarm = alarms.due(at: now) {
            switch alarm {
            case .hello(let id):
                // Its link may be slow: another connection may do better.
                end(id, Refusal(.order, retry: .reconnect, "no hello in time"), code: 4002, at: now, into: &effects)
            case .expiry(let id): expire(id, at: now, into: &effects)
            case .slow(let id): close(id, code: 4002, "too slow", at: now, into: &effects)
            case .grace(let device): endGrace(of: device, at: now, into: &effects)
            case .reopen(let room): reopen(room, into: &effects)
            case .release(let room): release(room, into: &effects)
            case .presence(let room): tellPresence(in: room, at: now, into: &effects)
            case .segments(let room): tellSegments(of: room, at: now, into: &effects)
            case .heartbeat: beat(at: now, into: &effects)
            case .forgetUser(let user): users[user] = nil
            case .forgetAddress(let address): addresses[address] = nil
            case .forgetOwners: forgetOwners(at: now)
            case .drain: closeAll(at: now, into: &effects)
            }
        }
    }

    // MARK: Time

    /// What the calendar says now, in milliseconds since 1970 UTC.
    func clock(at now: Moment) -> Int64 {
        calendar.milliseconds + (now - calendar.at).wholeMilliseconds
    }

    private mutating func adjust(to milliseconds: Int64, at now: Moment, into effects: inout [HubEffect]) {
        let milliseconds = min(max(milliseconds, 0), RoomsLimits.number)
        let jump = (milliseconds - clock(at: now)).magnitude
        calendar = (milliseconds, now)
        // A clock that was set moves the ends of tokens.
        guard jump > 1000 else { return }
        for id in visits.keys { setExpiry(of: id, at: now) }
    }

    // MARK: Saying

    mutating func nextNumber() -> Int64 {
        counter += 1
        return counter
    }

    mutating func say(_ refusal: Refusal, to id: ConnectionID, into effects: inout [HubEffect]) {
        counts.refused[refusal.code, default: 0] += 1
        effects.append(.send(.refusal(refusal), to: id))
    }

    /// A dictionary of large values, which are read and changed where they lie.
    ///
    /// A `Dictionary` copies the value that it is asked for a part of, with all that it holds; for each message that is too much.
    struct Table<Key: Hashable & Comparable & Sendable, Value: Sendable>: Sendable {
        private var places: [Key: Int] = [:]
        private var values: [Value?] = []
        private var free: [Int] = []

        var count: Int { places.count }
        var isEmpty: Bool { places.isEmpty }
        /// In their order, not in that of chance.
        var keys: [Key] { places.keys.sorted() }

        subscript(key: Key) -> Value? {
            _read {
                if let place = places[key] { yield values[place] } else { yield nil }
            }
            _modify {
                if let place = places[key] {
                    yield &values[place]
                    if values[place] == nil {
                        places[key] = nil
                        free.append(place)
                    }
                } else {
                    var value: Value?
                    yield &value
                    if let value { insert(value, key) }
                }
            }
        }

        private mutating func insert(_ value: Value, _ key: Key) {
            let place = free.popLast() ?? values.count
            if place == values.count { values.append(value) } else { values[place] = value }
            places[key] = place
        }

        /// Hands over all, in no order.
        func forEach(_ take: (Key, Value) -> Void) {
            for (key, place) in places { if let value = values[place] { take(key, value) } }
        }
    }
}

// "A hub that stops".
extension HubMachine {
    mutating func stop(at now: Moment, into effects: inout [HubEffect]) {
        guard !isStopping else { return }
        isStopping = true
        rooms.forEach { name, room in if !room.sequencer.isIdle { unsettled.insert(name) } }
        for id in visits.keys {
            guard visits[id]?.identity != nil else {
                end(id, Refusal(.stopping, retry: .reconnect, "the hub is stopping"), at: now, into: &effects)
                continue
            }
            let after = Int64.random(in: policy.stayAway, using: &chance)
            effects.append(.send(.goaway(.init(after: after, drain: policy.drain.wholeMilliseconds)), to: id))
        }
        alarms.set(.drain, at: now + policy.drain)
        if unsettled.isEmpty { closeAll(at: now, into: &effects) }
    }

    /// Closes all connections, once nothing that was taken is pending in any room.
    mutating func closeIfSettled(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard isStopping, rooms[name]?.sequencer.isIdle != false else { return }
        unsettled.remove(name)
        if unsettled.isEmpty { closeAll(at: now, into: &effects) }
    }

    mutating func closeAll(at now: Moment, into effects: inout [HubEffect]) {
        for id in visits.keys { close(id, code: 4004, "the hub stops", at: now, into: &effects) }
        // Nothing is waited for any more: neither a resume, nor a room that could be written again.
        alarms = Alarms<Alarm>()
    }
}

// A slow member never slows the room: it loses its place among the live, and joins again when it can.
extension HubMachine {
    /// A client does not read as fast as it is told: nothing that many get goes to it any more.
    mutating func congest(_ id: ConnectionID, at now: Moment) {
        guard let visit = visits[id], !visit.isCongested else { return }
        visits[id]?.isCongested = true
        reads.hold(id)
        alarms.set(.slow(id), at: now + policy.slowFor)
        for name in visit.rooms.sorted() {
            rooms[name]?.mute(id)
            guard rooms[name]?.members[id]?.phase == .live else { continue }
            rooms[name]?.members[id]?.phase = .behind
            rooms[name]?.members[id]?.isLagged = true
        }
    }

    /// It has caught up, and is told where to join again.
    ///
    /// It hears of what nobody stores, and sees who is there, from the next state on: to tell all that at once would congest it again.
    mutating func relieve(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let visit = visits[id], visit.isCongested else { return }
        visits[id]?.isCongested = false
        reads.release(id)
        alarms.cancel(.slow(id))
        for name in visit.rooms.sorted() {
            guard let member = rooms[name]?.members[id], member.isLagged else { continue }
            rooms[name]?.members[id]?.isLagged = false
            // One who has asked again meanwhile gets a state anyway.
            guard member.phase == .behind else { continue }
            counts.lagged += 1
            effects.append(.send(.lag(name, head: rooms[name]?.head ?? 0), to: id))
        }
        advance(id, at: now, into: &effects)
        readOn(at: now, into: &effects)
    }
}
