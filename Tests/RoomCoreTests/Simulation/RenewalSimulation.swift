import HoldfastTesting
import MachineCore
import RoomCore
import RoomHistory

/// An app that renews its device by the rules of the protocol page alone, while older connections of the device stay open.
///
/// Frames, token checks and disk writes are delayed, so frames of an older connection may arrive late. Messages numbered above `high`
/// on a new connection count as not stored, and the app sends them under another device.
struct RenewalSimulation {
    private enum Event { case lands(Int, ClientFrame?), heard(Int, HubFrame), ends(Int), identified(Int), logWorks, submits, renews }
    /// The purpose of a connection.
    private enum Purpose { case publishes, asks }
    private struct Link {
        var device: DeviceID
        var purpose: Purpose
        var hasState = false
        var high: Int64 = 0
        /// When the last frame arrives, in each direction.
        var up: Int64 = 0
        var down: Int64 = 0
    }
    private struct Row {
        var cseq: Int64
        var id: MessageID
    }

    private static let year: Int64 = 1_767_225_600_000
    private static let who = "app"
    private let room = RoomName("room")!
    private var hub: HubMachine
    private var log = SimLog()
    private var random: SeededGenerator
    private var agenda: [(due: Int64, event: Event)] = []
    private var now: Int64 = 0
    private var links: [Link] = []
    private var device: DeviceID
    private var next: Int64 = 1
    private var outbox: [Row] = []
    private var orders: [LogOrder] = []
    private var logIsFree: Int64 = 0
    private var names = SimNames()
    private var checker = HistoryChecker()
    /// How often frames of an older connection were still in flight when a newer one came.
    private(set) var races = 0

    private init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        device = DeviceID(using: &random)
        hub = HubMachine(node: "hub", incarnation: 1, seed: seed)
    }

    /// Runs one world.
    static func live(seed: UInt64) -> (races: Int, verdict: HistoryVerdict) {
        var world = RenewalSimulation(seed: seed)
        world.feed(.calendar(year))
        world.connect(.publishes)
        for _ in 0..<16 { world.plan(.submits, in: world.jitter(3000)) }
        for _ in 0..<4 { world.plan(.renews, in: world.jitter(4000)) }
        while world.step(before: 60_000) {}
        return (world.races, world.judged())
    }

    private mutating func step(before end: Int64) -> Bool {
        let (planned, woken) = (agenda.first?.due ?? .max, SimWorld.milliseconds(hub.deadline) ?? .max)
        guard min(planned, woken) < end else { return false }
        now = max(now, min(planned, woken))
        if woken <= planned {
            var effects: [HubEffect] = []
            hub.wake(at: Moment(.milliseconds(now)), into: &effects)
            carryOut(effects)
        } else {
            happen(agenda.removeFirst().event)
        }
        return true
    }

    private mutating func jitter(_ bound: Int64) -> Int64 { Int64.random(in: 0..<bound, using: &random) }

    private mutating func plan(_ event: Event, in delay: Int64) { plan(event, at: now + delay) }
    private mutating func plan(_ event: Event, at due: Int64) {
        let place = agenda.firstIndex { $0.due > due } ?? agenda.count
        agenda.insert((due, event), at: place)
    }

    private mutating func happen(_ event: Event) {
        switch event {
        case .lands(let link, nil): feed(.opened(id(link), address: "192.0.2.1"))
        case .lands(let link, let frame?): feed(.received(id(link), frame, bytes: 100))
        case .heard(let link, let frame): handle(frame, on: link)
        case .ends(let link): if link == links.count - 1 { connect(links[link].purpose) }
        case .identified(let link):
            feed(.identified(id(link), Identity(user: UserName("ann")!, grants: [Grant("*", .member)], expires: nil)))
        case .logWorks: workLog()
        case .submits: submit()
        case .renews: connect(.asks)
        }
    }

    // MARK: The app

    private func id(_ link: Int) -> ConnectionID { ConnectionID(UInt64(link + 1)) }

    /// Opens a connection.
    ///
    /// The earlier ones stay open, with all frames that they sent.
    private mutating func connect(_ purpose: Purpose) {
        if let last = links.last, last.up > now { races += 1 }
        links.append(Link(device: device, purpose: purpose))
        send(nil)
        send(.hello(.init(versions: [1], device: device, token: "t", joins: [.init(room: room)])))
    }

    private mutating func send(_ frame: ClientFrame?) {
        let link = links.count - 1
        links[link].up = max(links[link].up, now + 1 + jitter(200))
        plan(.lands(link, frame), at: links[link].up)
    }

    private mutating func submit() {
        let row = Row(cseq: next, id: MessageID(at: Self.year, using: &random))
        let digest = names.digest(payload(of: row))
        checker.note(.submitted(names.of(row.id), digest: digest, room: room.text, who: Self.who))
        checker.note(.queued(names.of(row.id), cseq: next, device: nil, room: room.text, who: Self.who))
        next += 1
        outbox.append(row)
        if let link = links.last, link.hasState, link.purpose == .publishes { publish(row) }
    }

    private func payload(of row: Row) -> Payload { .json(Array("\"\(row.id)\"".utf8)) }

    private mutating func publish(_ row: Row) {
        let content = Publication.Content(type: "t", payload: payload(of: row))
        send(.publish(room, Publication(cseq: row.cseq, id: row.id, sent: Self.year, content: content)))
    }

    private mutating func handle(_ frame: HubFrame, on link: Int) {
        guard link == links.count - 1 else { return }
        switch frame {
        case .state(let state):
            links[link].hasState = true
            links[link].high = state.high
            // The hub acks again what it has.
            for row in outbox where links[link].purpose == .publishes || row.cseq <= state.high { publish(row) }
            renewIfProved()
        case .acks(_, let epoch, let acks):
            for ack in acks {
                guard let row = outbox.first(where: { $0.cseq == ack.cseq }) else { continue }
                if ack.id != row.id || ack.seq == 0 { checker.note(.broken("\(ack.cseq) was acked as another", who: Self.who)) }
                outbox.removeAll { $0.cseq == ack.cseq }
                checker.note(.acked(names.of(row.id), epoch: names.of(epoch), seq: ack.seq, room: room.text, who: Self.who))
            }
            renewIfProved()
        case .refusal, .hole, .lag: connect(links[link].purpose)
        default: break
        }
    }

    /// Takes a new device when all pending messages are above `high`: they are not stored, and never will be under their numbers.
    private mutating func renewIfProved() {
        guard let link = links.last, link.purpose == .asks, link.hasState, outbox.allSatisfy({ $0.cseq > link.high }) else { return }
        device = DeviceID(using: &random)
        for place in outbox.indices { outbox[place].cseq = Int64(place) + 1 }
        next = Int64(outbox.count) + 1
        connect(.publishes)
    }

    // MARK: The hub

    private mutating func feed(_ input: HubInput) {
        var effects: [HubEffect] = []
        hub.handle(input, at: Moment(.milliseconds(now)), into: &effects)
        carryOut(effects)
    }

    private mutating func carryOut(_ effects: [HubEffect]) {
        for effect in effects {
            switch effect {
            case .send(let frame, let id): say(frame, id)
            case .fanOut(let frame, let ids): for id in ids { say(frame, id) }
            case .close(let id, _, _): plan(.ends(Int(id.number) - 1), in: 1 + jitter(200))
            case .authenticate(let id, _): plan(.identified(Int(id.number) - 1), in: jitter(400))
            case .log(let order):
                orders.append(order)
                logIsFree = max(logIsFree, now + jitter(150))
                plan(.logWorks, at: logIsFree)
            case .notify, .answer, .rewound: break
            }
        }
    }

    private mutating func say(_ frame: HubFrame, _ id: ConnectionID) {
        let link = Int(id.number) - 1
        links[link].down = max(links[link].down, now + 1 + jitter(200))
        plan(.heard(link, frame), at: links[link].down)
    }

    private mutating func workLog() {
        let order = orders.removeFirst()
        var reply = log.carryOut(order, epoch: 7)
        if case .appended(let room, let batch)? = reply, jitter(20) == 0 {
            // The append is on disk, but reported as failed.
            log.rooms[room]?.isDoubtful = true
            reply = .notAppended(room, batch: batch)
        }
        if let reply { feed(.log(reply)) }
    }

    private mutating func judged() -> HistoryVerdict {
        for fault in log.takeFaults() { checker.note(.broken(fault, who: "log")) }
        if !outbox.isEmpty {
            checker.note(.names(.outbox, outbox.map { names.of($0.id) }, room: room.text, who: Self.who))
        }
        let stored = log.rooms[room]
        let items = (stored?.entries ?? []).map { names.item($0) }
        checker.note(.entries(.log, items, epoch: names.of(7), seq: 1, room: room.text, who: "hub"))
        return checker.judged()
    }
}
