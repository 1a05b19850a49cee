import NIOCore
import NIOPosix
import RoomCore
import Testing

@testable import HoldfastHub

/// What is too much for one turn of the hub's loop.
@Suite(.timeLimit(.minutes(2))) struct InputBacklogTests {
    private static func ping(_ number: Int64, of id: ConnectionID) -> InputBacklog.Saying {
        InputBacklog.Saying(input: .received(id, .ping(number), bytes: 20), id: id, cost: 276)
    }

    @Test func `clients take turns, and each keeps its order`() {
        var backlog = InputBacklog()
        let (loud, calm) = (ConnectionID(1), ConnectionID(2))
        backlog.add((1...100).map { Self.ping($0, of: loud) } + [Self.ping(1, of: calm)])
        backlog.add([Self.ping(101, of: loud), Self.ping(2, of: calm)])
        var order: [ConnectionID] = []
        var numbers: [ConnectionID: [Int64]] = [:]
        while !backlog.isEmpty {
            let next = backlog.next()
            #expect(!next.isEmpty && next.count <= InputBacklog.inARow && Set(next.map(\.id)).count == 1)
            order.append(next[0].id)
            for case .received(let id, .ping(let number), _) in next.map(\.input) { numbers[id, default: []].append(number) }
        }
        #expect(order.prefix(2) == [loud, calm] && numbers == [loud: Array(1...101), calm: [1, 2]])
        #expect(backlog.next().isEmpty)
    }

    @Test func `a loop does other things before all that was said at once is handled`() async throws {
        let directory = try HubDirectory()
        var configuration = HubConfiguration(data: directory.path)
        // Nobody is ended for its silence while a busy machine takes its time.
        configuration.policy.helloWithin = .seconds(600)
        let log = try await SQLiteRoomLog(directory: directory.path + "/log", retention: RoomRetention())
        let core = HubCore(
            configuration, machine: HubMachine(policy: configuration.policy, node: "hub", incarnation: 1, seed: 1), log: log,
            bus: LocalBus(), authority: DevelopmentAuthority(other: nil, isOn: true),
            loops: [MultiThreadedEventLoopGroup.singleton.next()])
        let all = (1...2000 as ClosedRange<UInt64>).map { number in
            let id = ConnectionID(count: number, slot: 0, port: 0)
            return InputBacklog.Saying(input: .opened(id, address: "10.0.0.\(number % 200)"), id: id)
        }
        let first = try await core.loop.submit {
            core.take(all)
            return core.machine.figures.connections
        }.get()
        #expect((1...(HubCore.mostInTurn + InputBacklog.inARow)).contains(first))
        while try await core.figures().connections < all.count { await Task.yield() }
        core.finish()
        await log.close()
    }
}
