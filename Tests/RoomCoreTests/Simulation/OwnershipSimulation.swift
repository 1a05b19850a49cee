import HoldfastTesting
import MachineCore
import RoomCore

/// Users who all claim the same new device and publish with it in several rooms at once.
///
/// Each room's log has its own speed, so a write in one room may be unknown in another.
struct OwnershipSimulation {
    private enum Event { case opens(Int), lands(ConnectionID, ClientFrame), ends(ConnectionID), logWorks(RoomName), input(HubInput) }

    private static let year: Int64 = 1_767_225_600_000
    private let rooms = ["a", "b", "c"].compactMap { RoomName($0) }
    private let users = ["ann", "bob", "eve"].compactMap { UserName($0) }
    private var hub: HubMachine
    private var log = SimLog()
    private var random: SeededGenerator
    private let device: DeviceID
    private var agenda: [(due: Int64, event: Event)] = []
    private var now: Int64 = 0
    private var userIndices: [ConnectionID: Int] = [:]
    private var orders: [RoomName: [LogOrder]] = [:]
    private var busyUntil: [RoomName: Int64] = [:]
    private var owners: Set<UserName> = []
    private var faults: [String] = []
    /// The number of refusals because the device belongs to another user.
    private var refusals = 0

    private init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        device = DeviceID(using: &random)
        hub = HubMachine(node: "hub", incarnation: 1, seed: seed)
    }

    /// Runs one world.
    static func live(seed: UInt64) -> (refusals: Int, stored: Int, faults: [String]) {
        var world = OwnershipSimulation(seed: seed)
        world.feed(.calendar(year))
        for user in world.users.indices { for _ in 0..<2 { world.plan(.opens(user), in: world.jitter(300)) } }
        while let (due, event) = world.agenda.first, due < 20_000 {
            world.agenda.removeFirst()
            world.now = max(world.now, due)
            world.happen(event)
        }
        let stored = world.log.rooms.values.reduce(0) { $0 + $1.entries.count }
        return (world.refusals, stored, world.faults + world.log.takeFaults())
    }

    private mutating func jitter(_ bound: Int64) -> Int64 { Int64.random(in: 0..<bound, using: &random) }

    private mutating func plan(_ event: Event, in delay: Int64) {
        let due = now + delay
        agenda.insert((due, event), at: agenda.firstIndex { $0.due > due } ?? agenda.count)
    }

    private mutating func happen(_ event: Event) {
        switch event {
        case .opens(let user):
            let id = ConnectionID(UInt64(userIndices.count + 1))
            userIndices[id] = user
            feed(.opened(id, address: "192.0.2.1"))
            let joins = rooms.filter { _ in jitter(2) == 0 }.map { ClientFrame.Join(room: $0) }
            feed(.received(id, .hello(.init(versions: [1], device: device, token: "t", joins: joins)), bytes: 100))
            plan(.ends(id), in: 50 + jitter(400))
        case .lands(let id, let frame): feed(.received(id, frame, bytes: 100))
        case .ends(let id): feed(.gone(id))
        case .logWorks(let room): workLog(of: room)
        case .input(let input): feed(input)
        }
    }

    private mutating func feed(_ input: HubInput) {
        var effects: [HubEffect] = []
        hub.handle(input, at: Moment(.milliseconds(now)), into: &effects)
        for effect in effects {
            switch effect {
            case .send(.state(let state), let id): publish(after: state, by: id)
            case .send(.refusal(let refusal), _) where refusal.code == .device: refusals += 1
            case .authenticate(let id, _):
                let identity = Identity(user: users[userIndices[id] ?? 0], grants: [Grant("*", .member)], expires: nil)
                plan(.input(.identified(id, identity)), in: jitter(20))
            case .log(let order): take(order)
            default: break
            }
        }
    }

    /// Publishes when the connection has its state, or when another user has published.
    private mutating func publish(after state: HubFrame.RoomState, by id: ConnectionID) {
        let publication = Publication(
            cseq: state.high + 1, id: MessageID(at: Self.year, using: &random), sent: Self.year,
            content: jitter(4) == 0 ? nil : .init(type: "t", payload: .json([0x31])))
        plan(.lands(id, .publish(state.room, publication)), in: jitter(200))
    }

    private mutating func take(_ order: LogOrder) {
        guard let room = order.room else { return }
        orders[room, default: []].append(order)
        let due = max(busyUntil[room] ?? 0, now + jitter(120))
        busyUntil[room] = due
        plan(.logWorks(room), in: due - now)
    }

    /// Reads happen now, but the answer may be delayed.
    private mutating func workLog(of room: RoomName) {
        guard let order = orders[room]?.removeFirst() else { return }
        if case .append(_, _, let records) = order { judge(records) }
        if let reply = log.carryOut(order, epoch: 7) { plan(.input(.log(reply)), in: 0) }
    }

    private mutating func judge(_ records: [LogRecord]) {
        for record in records {
            switch record {
            case .entry(let entry): owners.insert(entry.user)
            case .void(_, let user, _, _, _): owners.insert(user)
            }
        }
        if owners.count > 1 { faults.append("a device is of \(owners.sorted()), at \(now)") }
    }
}

extension LogOrder {
    fileprivate var room: RoomName? {
        switch self {
        case .open(let room), .renew(let room), .recall(let room, _), .append(let room, _, _), .fetchAfter(_, let room, _, _, _),
            .fetchBefore(_, let room, _, _, _), .find(_, let room, _, _), .mark(let room, _, _), .release(let room):
            room
        }
    }
}
