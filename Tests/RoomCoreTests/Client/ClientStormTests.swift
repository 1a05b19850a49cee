import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// A model of the client's store that checks each change it is told to make.
private struct StormStore {
    var rooms: [RoomName: StoredRoom] = [:]
    /// The message that the hub has stored under a number.
    struct Proof: Hashable {
        var room: RoomName
        var cseq: Int64
        var id: MessageID
    }
    var proved: Set<Proof> = []
    /// How often each kind of change was made.
    var counts: [String: Int] = [:]
    var complaints: [String] = []

    mutating func carryOut(_ change: StoreChange) {
        counts[String("\(change)".prefix { $0 != "(" }), default: 0] += 1
        func expect(_ fact: Bool, _ text: String) { if !fact { complaints.append("\(text): \(change)") } }
        switch change {
        case .queue(let row):
            expect(row.publication.cseq == rooms[row.room, default: StoredRoom()].next, "a number was left out")
            rooms[row.room, default: StoredRoom()].outbox.append(row)
            rooms[row.room]?.next = row.publication.cseq + 1
        case .mark(let room, let cseq, let state):
            let place = rooms[room]?.outbox.firstIndex { $0.publication.cseq == cseq }
            expect(place != nil, "no such row")
            if let place { rooms[room]?.outbox[place].state = state }
        case .remove(let room, let cseq):
            let place = rooms[room]?.outbox.firstIndex { $0.publication.cseq == cseq }
            expect(place != nil, "no such row")
            guard let place, let row = rooms[room]?.outbox.remove(at: place) else { break }
            if row.state == .queued {
                expect(proved.contains(Proof(room: room, cseq: cseq, id: row.publication.id)), "removed without proof")
            }
        case .append(let room, let epoch, let entries):
            let cursor = rooms[room]?.cursor ?? .nowhere
            expect(epoch == cursor.epoch, "another epoch")
            expect(entries.map(\.seq) == (1...Int64(entries.count)).map { cursor.seq + $0 }, "not contiguous")
            rooms[room]?.cursor.seq = entries.last?.seq ?? cursor.seq
            rooms[room]?.proof = nil
        case .replace(let room, let cursor, let entries):
            expect(entries.last.map { $0.seq == cursor.seq } ?? true, "the cursor is not the last")
            rooms[room, default: StoredRoom()].cursor = cursor
            rooms[room]?.proof = nil
            rooms[room]?.first = cursor.seq - Int64(entries.count) + 1
        case .prepend(let room, let epoch, let entries):
            expect(epoch == rooms[room]?.cursor.epoch && entries.last?.seq == rooms[room].map { $0.first - 1 }, "does not touch")
            rooms[room]?.first -= Int64(entries.count)
        case .prove(let room, let proof): rooms[room]?.proof = proof
        case .read(let room, let seq): rooms[room]?.read = seq
        case .forget(let room):
            rooms[room, default: StoredRoom()].cursor = .nowhere
            rooms[room]?.first = 1
            rooms[room]?.read = 0
        case .renew(_, let outbox):
            let names = rooms.values.flatMap(\.outbox).map(\.publication.id).sorted()
            expect(outbox.map(\.publication.id).sorted() == names, "a message was lost or made up")
            for room in rooms.keys {
                let rows = outbox.filter { $0.room == room }
                expect(rows.map(\.publication.cseq) == Array(1...Int64(rows.count + 1)).dropLast(), "not numbered from 1")
                rooms[room]?.outbox = rows
                rooms[room]?.next = Int64(rows.count) + 1
            }
        }
    }
}

/// A hub that sends any frame at any time, an app that does anything, and a store that fails now and then.
@Suite struct ClientStormTests {
    private struct Storm {
        var generator: SplitMix64
        var machine: RoomsMachine
        var store = StormStore()
        var now = Moment.start
        var effects: [RoomsEffect] = []
        var commits: [(number: Int64, changes: [StoreChange])] = []
        var loads: [RoomName] = []
        var sent: [(room: RoomName, publication: Publication)] = []
        /// The frames with which a correct hub answers.
        var answers: [HubFrame] = []
        var isCut = true
        var question: ClientFrame.History?
        let names = [RoomName("a")!, RoomName("b")!, RoomName("c")!]
        let users = [ClientBench.ann, ClientBench.bob]
        let isWild: Bool

        init(seed: UInt64) {
            generator = SplitMix64(seed: seed)
            isWild = seed % 2 == 0
            var policy = RoomsPolicy()
            (policy.outboxCount, policy.unwrittenEntries, policy.nonsense) = (6, 8, 50)
            machine = RoomsMachine(policy: policy, seed: seed)
            machine.handle(.command(.storeOpened(ClientBench.device, keeps: .max, waiting: names)), at: now, into: &effects)
        }

        mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
        /// Usually a small number, and now and then an extreme one.
        mutating func number() -> Int64 {
            if isWild, pick(12) == 0 { return [.min, .max, -1, 1 << 53, (1 << 53) - 1].randomElement(using: &generator)! }
            return Int64(pick(14))
        }
        mutating func room() -> RoomName { names[pick(3)] }
        mutating func epoch() -> UInt64 { pick(9) == 0 ? UInt64(pick(3)) : 1 }
        mutating func entry(_ seq: Int64) -> Entry {
            let mine = pick(3) == 0 ? sent.randomElement(using: &generator)?.publication : nil
            return Entry(
                seq: seq, id: mine?.id ?? .of(UInt64(pick(40))), device: mine != nil || pick(9) == 0 ? machine.device! : ClientBench.device,
                cseq: mine?.cseq ?? number(), user: users[pick(2)],
                at: 0, sent: 0, type: "t", payload: .json([0x31]))
        }
        mutating func entries(after seq: Int64) -> [Entry] {
            (0..<Int64(pick(4))).map { entry(pick(12) == 0 ? number() : seq &+ 1 &+ $0) }
        }
        mutating func cursor(_ room: RoomName) -> Int64 { pick(10) == 0 ? number() : store.rooms[room]?.cursor.seq ?? 0 }

        mutating func frame() -> HubFrame {
            let name = room()
            switch pick(22) {
            case 0:
                var limits = RoomsLimits()
                if isWild { (limits.window, limits.roomWindow, limits.members, limits.page) = (number(), number(), number(), number()) }
                return .welcome(
                    .init(
                        version: pick(30) == 0 ? 2 : 1, connection: "c", user: users[0], now: number(), expires: number(),
                        window: pick(9) == 0 ? number() : 1 << 40, limits: limits))
            case 1...5:
                let snapshot = pick(4) == 0
                let after = snapshot ? Int64(pick(30)) : cursor(name)
                let items = entries(after: after)
                let last = sent.last { $0.room == name }
                return .state(
                    .init(
                        room: name, epoch: epoch(), from: after &+ 1, to: after &+ Int64(items.count), head: after &+ Int64(items.count),
                        base: number(), items: items, isSnapshot: snapshot, hasMore: pick(5) == 0,
                        high: pick(4) == 0 ? number() : last?.publication.cseq ?? 0, highID: pick(2) == 0 ? nil : last?.publication.id,
                        rights: RoomRights(rawValue: UInt8(pick(4) == 0 ? pick(16) : 7)),
                        reads: [.init(user: users[pick(2)], seq: number())]))
            case 9, 10: return .entries(name, epoch: epoch(), entries(after: cursor(name)))
            case 11, 12:
                let mine = sent.last { $0.room == name }?.publication
                let isHonest = pick(5) != 0
                return .acks(
                    name, epoch: epoch(),
                    [
                        .init(
                            cseq: isHonest ? mine?.cseq ?? 1 : number(), seq: number(), at: 0,
                            id: isHonest ? mine?.id : pick(3) == 0 ? nil : .of(UInt64(pick(40))), isDuplicate: pick(2) == 0)
                    ])
            case 13: return .hole(name, expected: number())
            case 14: return .lag(name, head: number())
            case 15:
                let before = pick(3) == 0 ? number() : question?.before ?? 1
                let items = (0..<Int64(pick(4))).reversed().map { entry(before &- 1 &- $0) }
                let page = HubFrame.Page(
                    reference: question?.reference ?? 1, room: question?.room ?? name, epoch: epoch(), items: items, base: number())
                return .page(page)
            case 16: return .read(name, users[pick(2)], upTo: number())
            case 17:
                let people = (0..<pick(3)).map { PresentMember(connection: "\($0)", user: users[0], presence: Presence()) }
                return .members(
                    .init(
                        room: name, node: "\(pick(2))", incarnation: 1, version: number(), isFull: pick(2) == 0, total: number(),
                        members: people, gone: ["0"]))
            case 18: return .typing(name, users[pick(2)], pick(2) == 0)
            case 19: return pick(20) == 0 ? .goaway(.init(after: number(), drain: number())) : .pong(1, now: number())
            case 20:
                let codes: [Refusal.Code] = [
                    .rights, .rate, .notJoined, .early, .storage, .stopping, .token, Refusal.Code(rawValue: number()),
                ]
                let retries: [Refusal.Retry] = [.never, .now, .after(number()), .after(5), .now]
                return .refusal(
                    Refusal(
                        codes[pick(codes.count)], retry: pick(30) == 0 ? .reconnect : retries[pick(5)], room: pick(9) == 0 ? nil : name,
                        cseq: pick(3) == 0 ? nil : number(), reference: pick(4) == 0 ? number() : nil, ""))
            default: return .renewed(expires: number())
            }
        }

        mutating func input() -> RoomsInput {
            let (name, id) = (room(), MessageID.of(UInt64(pick(40))))
            switch pick(60) {
            case 0:
                isCut = true
                return .lost
            case 1:
                answers = []
                return .opened(RoomsGreeting(token: "t"))
            case 4...6: return .command(.join(name, JoinRequest(start: [.now, .last(number()), .beginning][pick(3)], limit: number())))
            case 7: return .command(.leave(name))
            case 8: return .command(pick(4) == 0 ? .forget(name) : .storeOpened(ClientBench.device, keeps: .max, waiting: names))
            case 9...14: return .command(.submit(name, id, sent: number(), .text))
            case 15: return .command(.retry(name, id))
            case 16: return .command(.discard(name, id))
            case 17: return .command(.read(name, upTo: number()))
            case 18: return .command(.typing(name, pick(2) == 0))
            case 19: return .command(.presence(name, Presence(status: "\(pick(3))")))
            case 20: return .command(.signal(name, Signal(type: "t", payload: .json([0x31]))))
            case 21, 25: return .command(.history(name, reference: 7, before: store.rooms[name]?.first ?? 3, limit: number()))
            case 22: return .command(.calendar(number()))
            case 23: return .command(.token("u"))
            case 24: return .command(.committed(0))
            default: return .received(frame())
            }
        }

        mutating func hand(_ input: RoomsInput) {
            note(input)
            machine.handle(input, at: now, into: &effects)
            follow()
        }

        /// Notes which messages this input proves to be stored: an ack or an entry names the message under a number.
        mutating func note(_ input: RoomsInput) {
            switch input {
            case .received(.acks(let room, _, let acks)):
                for ack in acks where ack.seq > 0 {
                    if let id = ack.id { store.proved.insert(.init(room: room, cseq: ack.cseq, id: id)) }
                }
            case .received(.entries(let room, _, let items, _)): note(items, in: room)
            case .received(.state(let state)): note(state.items, in: state.room)
            default: break
            }
        }

        mutating func note(_ items: [Entry], in room: RoomName) {
            for entry in items where entry.device == machine.device {
                store.proved.insert(.init(room: room, cseq: entry.cseq, id: entry.id))
            }
        }

        mutating func follow() {
            for effect in effects {
                switch effect {
                case .event(.commit(let number, let changes)): commits.append((number, changes))
                case .event(.load(let room)): loads.append(room)
                case .end: isCut = true
                case .send(let frame):
                    if case .publish(let room, let publication) = frame { sent.append((room, publication)) }
                    if case .history(let asked) = frame { question = asked }
                    if pick(5) != 0 { answers += answer(to: frame) }
                default: break
                }
            }
            effects = []
        }

        mutating func answer(to frame: ClientFrame) -> [HubFrame] {
            switch frame {
            case .hello(let hello):
                let welcome = HubFrame.Welcome(
                    version: 1, connection: "c", user: users[0], now: 1000, expires: 0, window: 1 << 40, limits: RoomsLimits())
                return [.welcome(welcome)] + hello.joins.flatMap { answer(to: .join($0)) }
            case .join(let join):
                let isNew = join.cursor.epoch != 1
                let after = isNew ? Int64(3 + pick(9)) : join.cursor.seq
                let items = (1...Int64(1 + pick(3))).map { entry(after &+ $0) }
                let to = after &+ Int64(items.count)
                return [
                    .state(
                        .init(
                            room: join.room, epoch: 1, from: after &+ 1, to: to, head: to, base: 1, items: items, isSnapshot: isNew,
                            hasMore: pick(4) == 0, high: max(join.next - 1 - Int64(pick(3)), 0), highID: nil, rights: .member, reads: [])),
                    .entries(join.room, epoch: 1, [entry(to &+ 1)]),
                ]
            case .publish(let room, let publication):
                return [
                    .acks(room, epoch: 1, [.init(cseq: publication.cseq, seq: Int64(pick(5)), at: 0, id: publication.id)])
                ]
            case .history(let asked):
                let items = (1...Int64(1 + pick(2))).reversed().map { entry(asked.before &- $0) }
                return [.page(.init(reference: asked.reference, room: asked.room, epoch: 1, items: items, base: 1))]
            default: return []
            }
        }

        mutating func step() {
            switch pick(8) {
            case 0 where !commits.isEmpty:
                guard let commit = commits.first else { break }
                if pick(15) == 0 {
                    commits = []
                    hand(.command(.notCommitted(commit.number, full: pick(2) == 0)))
                } else {
                    commits.removeFirst()
                    for change in commit.changes { store.carryOut(change) }
                    hand(.command(.committed(commit.number)))
                }
            case 1 where !loads.isEmpty:
                let room = loads.removeFirst()
                hand(.command(pick(12) == 0 ? .notLoaded(room) : .loaded(room, store.rooms[room] ?? StoredRoom())))
            case 2:
                now = max(now, machine.deadline ?? now) + .milliseconds(pick(3000))
                machine.wake(at: now, into: &effects)
                follow()
            case 3 where isCut:
                (isCut, answers) = (false, [])
                hand(.lost)
                hand(.opened(RoomsGreeting(token: "t")))
            case 4...6 where !answers.isEmpty: hand(.received(answers.removeFirst()))
            default: hand(input())
            }
        }
    }

    @Test func `whatever a hub sends, the client's store changes are valid, and no message leaves the outbox without proof`() {
        var counts: [String: Int] = [:]
        for seed in 0..<200 as Range<UInt64> {
            var storm = Storm(seed: seed)
            for _ in 0..<400 where storm.store.complaints.isEmpty { storm.step() }
            #expect(storm.store.complaints == [], "seed \(seed)")
            counts.merge(storm.store.counts) { $0 + $1 }
        }
        for kind in ["renew", "queue", "mark", "remove", "append", "replace", "prepend", "read", "forget"] {
            #expect(counts[kind] ?? 0 >= 20, "\(counts): a storm without \(kind) shows little")
        }
    }

    @Test func `the same inputs give the same effects`() {
        for seed in 0..<20 as Range<UInt64> {
            var storms = [Storm(seed: seed), Storm(seed: seed)]
            for _ in 0..<300 {
                for index in storms.indices { storms[index].step() }
                #expect(storms[0].sent.map(\.publication) == storms[1].sent.map(\.publication))
                #expect(storms[0].commits.map(\.changes) == storms[1].commits.map(\.changes))
            }
        }
    }
}
