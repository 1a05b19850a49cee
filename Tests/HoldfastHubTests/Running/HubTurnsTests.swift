import HoldfastServer
import NIOCore
import NIOPosix
import RoomCore
import Testing

@testable import HoldfastHub

/// Work that is too much for one turn of the hub's event loop.
@Suite(.timeLimit(.minutes(2))) struct HubTurnsTests {
    @Test func `the event loop runs other work while many frames wait`() async throws {
        let directory = try HubDirectory()
        var configuration = HubConfiguration(data: directory.path)
        // No connection is ended for silence while a busy machine is slow.
        configuration.policy.helloWithin = .seconds(600)
        let log = try await SQLiteRoomLog(directory: directory.path + "/log", retention: RoomRetention())
        let core = HubCore(
            configuration, machine: HubMachine(policy: configuration.policy, node: "hub", incarnation: 1, seed: 1), log: log,
            bus: LocalBus(), authority: DevelopmentAuthority(other: nil, isOn: true),
            loops: [MultiThreadedEventLoopGroup.singleton.next()])
        let all = (1...2000 as ClosedRange<UInt64>).map { number in
            let id = ConnectionID(count: number, slot: 0, port: 0)
            return HostedInput<HubCore>(.opened(id, address: "10.0.0.\(number % 200)"), of: id)
        }
        let first = try await core.host.loop.submit {
            core.host.take(all)
            return core.machine.figures.connections
        }.get()
        #expect((1...(MachineHost<HubCore>.mostInTurn + 8)).contains(first))
        while try await core.figures().connections < all.count { await Task.yield() }
        core.finish()
        await log.close()
    }
}
