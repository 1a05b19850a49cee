import MachineCore
import RoomCore
import Testing

/// Random inputs in any order do not break the hub's guarantees.
@Suite struct HubExplorationTests {
    /// Clients that send anything, a log that fails, and checks of all that the hub sends.
    private struct RandomRun {
        var hub: HubMachine
        var log = ModelLog()
        var chance: SplitMix64
        var now = Moment.start
        var calendar = HubStage.newYear
        var orders: [LogOrder] = []
        var inbox: [HubInput] = []
        var open: [ConnectionID] = []
        var closed: Set<ConnectionID> = []
        var devices: [ConnectionID: DeviceID] = [:]
        var count: UInt64 = 0
        /// The epoch and last entry of each connection in each room.
        ///
        /// Nil means that the next entries may begin anywhere.
        var cursors: [ConnectionID: [RoomName: LogPosition]] = [:]
        /// The message IDs that were acked, sent or numbered at each position of each epoch.
        var ids: [RoomName: [LogPosition: MessageID]] = [:]
        var complaints: [String] = []
        var seen: Set<String> = []

        let rooms = ["a", "b", "c"].map { RoomName($0)! }
        let users = ["ann", "bob", "eve"]

        init(seed: UInt64, policy: HubPolicy) {
            chance = SplitMix64(seed: seed)
            hub = HubMachine(policy: policy, node: "n1", incarnation: seed, seed: seed)
            inbox = [.calendar(calendar)]
        }

        mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &chance)] }
        mutating func odds(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &chance) == 0 }
        mutating func number() -> Int64 { odds(60) ? pick([.min, .max, 0, -1, 1 << 53]) : Int64.random(in: 1...12, using: &chance) }

        // MARK: Inputs

        mutating func connection() -> ConnectionID {
            open.isEmpty || odds(30) ? ConnectionID(UInt64.random(in: 0...count, using: &chance)) : pick(open)
        }

        mutating func frame(of id: ConnectionID) -> ClientFrame {
            let room = pick(rooms)
            switch Int.random(in: 0..<24, using: &chance) {
            case 0: return odds(20) ? hello(of: id) : .ping(0)
            case 1: return .auth(token: odds(6) ? pick(users + [""]) : user(of: id))
            case 2...6: return join(room)
            case 7: return .leave(room)
            case 8...16:
                let high = devices[id].flatMap { log.rooms[room]?.marks[$0]?.high } ?? 0
                return .publish(room, publication(odds(3) ? number() : max(high + Int64.random(in: 0...2, using: &chance), 1)))
            case 17: return .read(room, upTo: number())
            case 18: return .history(.init(reference: number(), room: room, before: number(), limit: number()))
            case 19: return .presence(room, .init(status: pick(["away", "online"])))
            case 20: return .members(room)
            case 21: return .typing(room, odds(2))
            case 22: return .signal(room, .init(type: "s", payload: .json([49])))
            default: return .ping(number())
            }
        }

        mutating func publication(_ cseq: Int64) -> Publication {
            let content = Publication.Content(
                type: odds(20) ? "" : "t", payload: .json(Array(repeating: 49, count: odds(20) ? 100_000 : 3)))
            return Publication(
                cseq: cseq, id: MessageID(at: calendar, using: &chance), sent: odds(20) ? pick([number(), .max]) : calendar,
                content: odds(8) ? nil : content)
        }

        func user(of id: ConnectionID) -> String { users[Int((devices[id]?.bits.low ?? 0) % 3)] }

        mutating func join(_ room: RoomName) -> ClientFrame {
            let stored = log.rooms[room]
            let epoch = odds(10) ? UInt64(bitPattern: number()) : stored?.epoch ?? 0
            return .join(
                .init(
                    room: room,
                    cursor: LogPosition(epoch: epoch, seq: odds(8) ? number() : Int64.random(in: 0...(stored?.head ?? 0), using: &chance)),
                    limit: odds(2) ? number() : 0, wantsPresence: odds(2)))
        }

        mutating func hello(of id: ConnectionID) -> ClientFrame {
            let device = DeviceID.numbered(UInt64.random(in: 0..<5, using: &chance))
            devices[id] = device
            let joins = (0..<Int.random(in: 0...3, using: &chance)).map { _ in pick(rooms) }.map { ClientFrame.Join(room: $0) }
            return .hello(.init(versions: odds(40) ? [] : [1], device: device, token: odds(10) ? pick(users) : user(of: id), joins: joins))
        }

        mutating func happen() {
            switch Int.random(in: 0..<32, using: &chance) {
            case 0 where open.count < 8 || odds(4):
                count += 1
                open.append(ConnectionID(count))
                inbox.append(.opened(ConnectionID(count), address: pick(["10.0.0.1", "10.0.0.2"])))
                inbox.append(.received(ConnectionID(count), hello(of: ConnectionID(count)), bytes: 100))
            case 2: if odds(4) { inbox.append(.gone(connection())) }
            case 3: inbox.append(.congested(connection()))
            case 4: inbox.append(.drained(connection()))
            case 5:
                let passed = pick([1, 300, 300, 2000, 2000, 11_000, 70_000] as [Int64])
                now = now + .milliseconds(passed)
                calendar += odds(20) ? Int64.random(in: -100_000...100_000, using: &chance) : passed
                inbox.append(.calendar(calendar))
            case 6:
                inbox.append(
                    .publish(
                        ServerRequest(count), pick(rooms), .numbered(UInt64.random(in: 3..<7, using: &chance)), UserName(pick(users))!,
                        publication(number())))
            case 7: if odds(20) { inbox.append(.malformed(connection(), "?")) }
            case 8: log.isReadable = !odds(20)
            case 9: if odds(6) { log.outcomes = [pick([.refused, .uncertain])] }
            case 10: if let trimmed = log.trim(pick(rooms), to: Int.random(in: 0...20, using: &chance)) { inbox.append(.log(trimmed)) }
            case 11:
                let segment = HubFrame.RoomMembers(
                    room: pick(rooms), node: pick(["n1", "n2"]), incarnation: 3, version: number(), isFull: odds(2), total: number(),
                    members: [],
                    gone: [])
                inbox.append(.heard(.segment(segment)))
            case 12:
                // An answer that no one asked for.
                let room = pick(rooms)
                let replies: [LogReply] = [
                    .appended(room, batch: -1), .notAppended(room, batch: -1), .fetched(-1, [], base: 1), .found(-1, nil), .notFetched(-1),
                ]
                inbox.append(.log(pick(replies)))
            case 13...20:
                let answered = odds(2) ? orders.count : Int.random(in: 0...orders.count, using: &chance)
                for _ in 0..<min(answered, orders.count) {
                    // Answers of one room come in order. Answers of different rooms come in any order.
                    if let reply = log.carryOut(orders.removeFirst()) { inbox.append(.log(reply)) }
                }
            default:
                let id = connection()
                inbox.append(.received(id, frame(of: id), bytes: odds(400) ? 2_000_000 : 120))
            }
            while !inbox.isEmpty {
                let input = inbox.removeFirst()
                if case .received(let id, .join(let join), _) = input { cursors[id]?[join.room] = nil }
                var effects: [HubEffect] = []
                hub.handle(input, at: now, into: &effects)
                for effect in effects { carryOut(effect) }
            }
            var effects: [HubEffect] = []
            hub.wake(at: now, into: &effects)
            if let deadline = hub.deadline, deadline <= now { complaints.append("the hub did nothing at its deadline") }
            for effect in effects { carryOut(effect) }
        }

        // MARK: Effects

        mutating func carryOut(_ effect: HubEffect) {
            switch effect {
            case .send(let frame, let id): take(frame, id)
            case .fanOut(let frame, let ids):
                if Set(ids).count != ids.count || ids.isEmpty { complaints.append("sent twice or to no one: \(frame)") }
                for id in ids { take(frame, id) }
            case .close(let id, _, _):
                if !closed.insert(id).inserted { complaints.append("closed twice") }
                open.removeAll { $0 == id }
                cursors[id] = nil
            case .authenticate(let id, let token):
                if let user = UserName(token ?? "") {
                    let grants = odds(12) ? [Grant("*", [.write])] : [Grant("*", .member)]
                    inbox.append(
                        .identified(id, Identity(user: user, grants: grants, expires: odds(20) ? calendar + number() % 100 * 1000 : nil)))
                } else {
                    inbox.append(.unidentified(id, Refusal(.token, "none")))
                }
            case .log(let order): orders.append(order)
            case .notify(let message): inbox.append(.heard(message))
            case .answer(_, .stored(let epoch, let ack)):
                _ = epoch
                if ack.seq < 0 { complaints.append("a position below 0") }
                seen.insert("answer")
            case .answer, .rewound: break
            }
        }

        mutating func take(_ frame: HubFrame, _ id: ConnectionID) {
            if closed.contains(id) { complaints.append("sent to a closed connection: \(frame)") }
            switch frame {
            case .state(let state):
                seen.insert(state.isSnapshot ? "snapshot" : state.hasMore ? "page" : "resume")
                if state.items.last.map({ $0.seq != state.to }) ?? (state.to != state.from - 1) {
                    complaints.append("a wrong end or head: \(state)")
                }
                follow(state.items, in: state.room, epoch: state.epoch, from: state.from)
                if state.hasMore != (state.to < state.head) { complaints.append("a wrong hasMore: \(state)") }
                cursors[id, default: [:]][state.room] = state.hasMore ? nil : LogPosition(epoch: state.epoch, seq: state.to)
            case .entries(let room, let epoch, let items, _):
                seen.insert("entries")
                guard let cursor = cursors[id]?[room] else { return complaints.append("entries before a state: \(room)") }
                if cursor.epoch != epoch { complaints.append("another epoch without a state") }
                follow(items, in: room, epoch: epoch, from: cursor.seq + 1)
                cursors[id]?[room] = LogPosition(epoch: epoch, seq: items.last?.seq ?? cursor.seq)
            case .acks(let room, let epoch, let acks):
                for ack in acks where ack.seq > 0 {
                    seen.insert(ack.isDuplicate ? "duplicate" : "ack")
                    check(LogPosition(epoch: epoch, seq: ack.seq), ack.id, in: room)
                }
            case .lag(let room, _):
                seen.insert("lag")
                cursors[id]?[room] = nil
            case .hole: seen.insert("hole")
            case .refusal(let refusal): seen.insert("refusal \(refusal.code)")
            default: break
            }
        }

        /// Checks that entries are contiguous, and are in the log under the same IDs.
        mutating func follow(_ items: [Entry], in room: RoomName, epoch: UInt64, from: Int64) {
            for (place, entry) in items.enumerated() {
                if entry.seq != from + Int64(place) { complaints.append("\(entry.seq) after \(from + Int64(place) - 1)") }
                check(LogPosition(epoch: epoch, seq: entry.seq), entry.id, in: room)
            }
        }

        mutating func check(_ position: LogPosition, _ id: MessageID?, in room: RoomName) {
            if let known = ids[room]?[position], known != id { complaints.append("two messages at \(position)") }
            ids[room, default: [:]][position] = id
        }

        /// Checks that all sent entries are in the log, each publication once.
        mutating func close() {
            var owners: [DeviceID: UserName] = [:]
            for room in rooms {
                var written: [LogPosition: MessageID] = [:]
                var numbers: [DeviceID: Int64] = [:]
                for (epoch, record) in log.written[room] ?? [] {
                    let (device, user, cseq): (DeviceID, UserName, Int64)
                    switch record {
                    case .entry(let entry):
                        (device, user, cseq) = (entry.device, entry.user, entry.cseq)
                        if written.updateValue(entry.id, forKey: LogPosition(epoch: epoch, seq: entry.seq)) != nil {
                            complaints.append("a number was used twice")
                        }
                    case .void(let voided, let owner, let number, _, _): (device, user, cseq) = (voided, owner, number)
                    }
                    if owners.updateValue(user, forKey: device) ?? user != user { complaints.append("two users have \(device)") }
                    if cseq != numbers[device, default: 0] + 1 { complaints.append("\(cseq) of \(device) after \(numbers[device] ?? 0)") }
                    numbers[device] = cseq
                }
                for (position, id) in ids[room] ?? [:] where written[position] != id {
                    complaints.append("sent, but not in the log: \(position)")
                }
            }
        }
    }

    @Test func `in every order of inputs the hub keeps its guarantees`() {
        var seen: Set<String> = []
        var policy = HubPolicy()
        (policy.tailEntries, policy.fetches, policy.limits.page, policy.limits.members) = (2, 2, 3, 2)
        for seed in 1...150 as ClosedRange<UInt64> {
            var run = RandomRun(seed: seed, policy: policy)
            for _ in 0..<800 { run.happen() }
            run.close()
            #expect(run.complaints.isEmpty, "seed \(seed)")
            seen.formUnion(run.seen)
        }
        let expected: Set = [
            "snapshot", "page", "resume", "entries", "ack", "duplicate", "lag", "hole", "answer", "refusal 1001", "refusal 1003",
            "refusal 1004",
            "refusal 2001", "refusal 2003", "refusal 3001", "refusal 3003", "refusal 4002", "refusal 4004", "refusal 4005", "refusal 5001",
        ]
        #expect(seen.isSuperset(of: expected), "not seen: \(expected.subtracting(seen).sorted())")
    }

    @Test func `the same inputs give the same effects`() {
        func effects() -> [HubEffect] {
            var hub = HubMachine(node: "n1", incarnation: 1, seed: 9)
            var (all, new): ([HubEffect], [HubEffect]) = ([], [])
            var (log, inbox) = (ModelLog(), [HubInput.calendar(HubStage.newYear)])
            for number in 1...40 as ClosedRange<UInt64> {
                let id = ConnectionID(number)
                let joins = (1...4).map { ClientFrame.Join(room: RoomName("r\(UInt64($0) * number % 7)")!, wantsPresence: true) }
                inbox += [
                    .opened(id, address: "a\(number % 3)"),
                    .received(id, .hello(.init(versions: [1], device: .numbered(number % 30), token: "u", joins: joins)), bytes: 9),
                ]
                inbox += joins.map { .received(id, .publish($0.room, .numbered(1)), bytes: 9) }
            }
            inbox.append(.stop)
            while !inbox.isEmpty {
                hub.handle(inbox.removeFirst(), at: .start, into: &new)
                var answers: [HubInput] = []
                for effect in new {
                    switch effect {
                    case .authenticate(let id, _):
                        answers.append(.identified(id, Identity(user: UserName("u")!, grants: [Grant("*", .member)], expires: nil)))
                    case .log(let order): if let reply = log.carryOut(order) { answers.append(.log(reply)) }
                    case .notify(let message): answers.append(.heard(message))
                    default: break
                    }
                }
                inbox = answers + inbox
                all += new
                new = []
            }
            return all
        }
        let first = effects()
        #expect(first.count > 500)
        for _ in 0..<5 { #expect(effects() == first) }
    }
}
