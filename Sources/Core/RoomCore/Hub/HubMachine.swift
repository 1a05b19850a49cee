package import MachineCore

/// The rules of a hub: who is connected, the order of entries, and who gets what.
///
/// It implements docs/rooms-protocol.md. One owner feeds the inputs and executes the effects in order: frames to a connection are sent in
/// that order, and orders for a room are executed in that order. ``HubPolicy`` limits all memory that clients can use. A publication
/// costs the same in a large room as in a small one: the members are passed on as one array.
package struct HubMachine: Machine {
    package typealias Input = HubInput
    package typealias Effect = HubEffect

    let policy: HubPolicy
    let node: String
    let incarnation: UInt64
    /// The key that proves cursors; nil: there are no proofs.
    let proofs: ProofKey?
    var chance: SplitMix64
    /// The last reading of the calendar, and when it came.
    var calendar: (milliseconds: Int64, at: Moment) = (0, .start)
    /// The log's time, by which it forgets devices; 0 before the log has reported it.
    var logTime: Int64 = 0
    var connections = Table<ConnectionID, Connection>()
    var devices: [OwnedDevice: PresentDevice] = [:]
    /// Devices whose connections have said hello and are not authenticated yet.
    var greetings: [DeviceID: Greeting] = [:]
    /// The devices in rooms, and their owners.
    var ownerships: [DeviceID: Ownership] = [:]
    /// Device owners that the log has named to other users.
    var owners = NamedOwners()
    var users: [UserName: Party] = [:]
    var addresses: [String: Party] = [:]
    var rooms = Table<RoomName, Room>()
    /// The rooms of each user and address.
    var holdings = Holdings()
    /// Empty rooms, which are released early to make place for others.
    var deserted = Pool()
    var questions: [Int64: Question] = [:]
    /// The pages of the log that clients wait for.
    var reads = ReadQueue()
    var isReadingOn = false
    /// The last number of a request or an append.
    var counter: Int64 = 0
    /// The other nodes, and when each was last heard.
    var nodes: [String: Moment] = [:]
    var alarms = Alarms<Alarm>()
    var isStopping = false
    /// Rooms with writes that were pending when the shutdown began and still are.
    var unsettled: Set<RoomName> = []
    /// The greatest presence version that was sent for a released room; others drop versions that are older.
    var toldVersion: Int64 = 0
    /// The bytes of the entries that all rooms keep in memory.
    var tailBytes: Int64 = 0
    /// The bytes of ephemeral frames, counted once per receiver.
    var deliveries = Bucket()
    /// The number of bytes that may still be stored in total, as last reported.
    var space = Int64.max
    var counts = HubFigures()

    /// Creates a hub without connections.
    ///
    /// - Parameters:
    ///   - node: The name of this process among the nodes of the hub.
    ///   - incarnation: A number that differs for each run of the process.
    ///   - seed: The seed for the names of connections and for random pauses.
    ///   - proofs: The key of the log that proves cursors; nil: there are no proofs.
    package init(policy: HubPolicy = HubPolicy(), node: String = "hub", incarnation: UInt64, seed: UInt64, proofs: ProofKey? = nil) {
        (self.policy, self.node, self.incarnation, self.proofs) = (policy, node, incarnation, proofs)
        chance = SplitMix64(seed: seed)
    }

    /// The counters of the hub.
    package var figures: HubFigures {
        var figures = counts
        (figures.rooms, figures.connections) = (rooms.count, connections.count)
        return figures
    }

    /// Whether the hub holds no state about any client.
    package var isEmpty: Bool {
        connections.isEmpty && devices.isEmpty && greetings.isEmpty && ownerships.isEmpty && users.isEmpty && addresses.isEmpty
            && rooms.isEmpty
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
        case .heard(let message): handle(message, at: now, into: &effects)
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
                // The connection may be slow: another one may do better.
                end(id, Refusal(.order, retry: .reconnect, "no hello in time"), code: 4002, at: now, into: &effects)
            case .expiry(let id): expire(id, at: now, into: &effects)
            case .slow(let id): close(id, code: 4002, "too slow", at: now, into: &effects)
            case .grace(let device): endGrace(of: device, at: now, into: &effects)
            case .reopen(let room): reopen(room, into: &effects)
            case .release(let room): release(room, into: &effects)
            case .presence(let room): notifyPresence(in: room, at: now, into: &effects)
            case .segments(let room): notifySegments(of: room, at: now, into: &effects)
            case .heartbeat: beat(at: now, into: &effects)
            case .forgetUser(let user): users[user] = nil
            case .forgetAddress(let address): addresses[address] = nil
            case .forgetOwners: forgetOwners(at: now)
            case .drain: closeAll(at: now, into: &effects)
            }
        }
    }

    // MARK: Time

    /// Returns the wall-clock time in milliseconds since 1970 UTC.
    func clock(at now: Moment) -> Int64 {
        calendar.milliseconds + (now - calendar.at).wholeMilliseconds
    }

    private mutating func adjust(to milliseconds: Int64, at now: Moment, into effects: inout [HubEffect]) {
        let milliseconds = min(max(milliseconds, 0), RoomsLimits.number)
        let jump = (milliseconds - clock(at: now)).magnitude
        calendar = (milliseconds, now)
        // A change of the clock moves the expiry of tokens.
        guard jump > 1000 else { return }
        for id in connections.keys { setExpiry(of: id, at: now) }
    }

    // MARK: Helpers

    mutating func nextNumber() -> Int64 {
        counter += 1
        return counter
    }

    mutating func say(_ refusal: Refusal, to id: ConnectionID, into effects: inout [HubEffect]) {
        counts.refused[refusal.code, default: 0] += 1
        effects.append(.send(.refusal(refusal), to: id))
    }

    /// A dictionary of large values that are read and changed in place.
    ///
    /// A `Dictionary` copies a whole value, with all that it holds, when a part of it is read. That is too slow to do for each message.
    struct Table<Key: Hashable & Comparable & Sendable, Value: Sendable>: Sendable {
        private var places: [Key: Int] = [:]
        private var values: [Value?] = []
        private var free: [Int] = []

        var count: Int { places.count }
        var isEmpty: Bool { places.isEmpty }
        /// The keys in sorted order, which is deterministic.
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

        /// Passes all entries to a closure, in no order.
        func forEach(_ take: (Key, Value) -> Void) {
            for (key, place) in places { if let value = values[place] { take(key, value) } }
        }
    }
}

// The shutdown of a hub.
extension HubMachine {
    mutating func stop(at now: Moment, into effects: inout [HubEffect]) {
        guard !isStopping else { return }
        isStopping = true
        rooms.forEach { name, room in if !room.sequencer.isIdle { unsettled.insert(name) } }
        for id in connections.keys {
            guard connections[id]?.identity != nil else {
                end(id, Refusal(.stopping, retry: .reconnect, "the hub is stopping"), at: now, into: &effects)
                continue
            }
            let after = Int64.random(in: policy.stayAway, using: &chance)
            effects.append(.send(.goaway(.init(after: after, drain: policy.drain.wholeMilliseconds)), to: id))
        }
        alarms.set(.drain, at: now + policy.drain)
        if unsettled.isEmpty { closeAll(at: now, into: &effects) }
    }

    /// Closes all connections once no accepted publication is pending in any room.
    mutating func closeIfSettled(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard isStopping, rooms[name]?.sequencer.isIdle != false else { return }
        unsettled.remove(name)
        if unsettled.isEmpty { closeAll(at: now, into: &effects) }
    }

    mutating func closeAll(at now: Moment, into effects: inout [HubEffect]) {
        for id in connections.keys { close(id, code: 4004, "the hub stops", at: now, into: &effects) }
        // Nothing more is to be done later: neither a resume nor the reopening of a room.
        alarms = Alarms<Alarm>()
    }
}

// A slow member never slows the room: it leaves the live members, and joins again when it has caught up.
extension HubMachine {
    /// Handles a client that does not read fast enough: frames for many members are no longer sent to it.
    mutating func congest(_ id: ConnectionID, at now: Moment) {
        guard let connection = connections[id], !connection.isCongested else { return }
        connections[id]?.isCongested = true
        reads.hold(id)
        alarms.set(.slow(id), at: now + policy.slowFor)
        for name in connection.rooms.sorted() {
            rooms[name]?.mute(id)
            guard rooms[name]?.members[id]?.phase == .live else { continue }
            rooms[name]?.members[id]?.phase = .behind
            rooms[name]?.members[id]?.isLagged = true
        }
    }

    /// Handles a client that has caught up: tells it in which rooms to join again.
    ///
    /// It gets ephemeral frames and the members again only with the next state. To send everything at once would congest it again.
    mutating func relieve(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let connection = connections[id], connection.isCongested else { return }
        connections[id]?.isCongested = false
        reads.release(id)
        alarms.cancel(.slow(id))
        for name in connection.rooms.sorted() {
            guard let member = rooms[name]?.members[id], member.isLagged else { continue }
            rooms[name]?.members[id]?.isLagged = false
            // A member that has joined again meanwhile gets a state anyway.
            guard member.phase == .behind else { continue }
            counts.lagged += 1
            effects.append(.send(.lag(name, head: rooms[name]?.head ?? 0), to: id))
        }
        advance(id, at: now, into: &effects)
        readOn(at: now, into: &effects)
    }
}
