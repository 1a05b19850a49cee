import HoldfastServer
import NIOPosix
import RoomCore
import Testing

@testable import HoldfastHub

extension HubTests {
    /// What a stopping hub waits for.
    @Suite struct HubStoppingTests {
        /// A log that appends only when the test permits it.
        private struct HeldLog: RoomLog {
            let log: SQLiteRoomLog
            private let permits = AsyncStream.makeStream(of: Void.self)
            private let questions = AsyncStream.makeStream(of: Void.self)

            init(_ log: SQLiteRoomLog) { self.log = log }

            func carryOut(_ orders: [LogOrder]) async -> [LogReply] {
                if orders.contains(where: { if case .append = $0 { true } else { false } }) {
                    questions.continuation.yield()
                    for await _ in permits.stream { break }
                }
                return await log.carryOut(orders)
            }

            func tend(now: Int64, ran: Int64) async -> LogCare { await log.tend(now: now, ran: ran) }
            var health: LogHealth { get async { await log.health } }
            var figures: LogFigures { get async { await log.figures } }

            /// Waits for an append.
            func isAsked() async { for await _ in questions.stream { return } }
            func permit() { permits.continuation.yield() }
        }

        @Test func `a publication over HTTP is stored before the hub has stopped`() async throws {
            let directory = try HubDirectory()
            let log = HeldLog(try await SQLiteRoomLog(directory: directory.path + "/log", retention: RoomRetention()))
            var configuration = HubConfiguration(data: directory.path)
            configuration.policy.drain = .seconds(60)
            let core = HubCore(
                configuration, machine: HubMachine(policy: configuration.policy, node: "hub", incarnation: 1, seed: 1), log: log,
                bus: LocalBus(), authority: DevelopmentAuthority(other: nil, isOn: true),
                loops: [MultiThreadedEventLoopGroup.singleton.next()])
            let user = try #require(UserName("robot"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await core.logDriver.run { replies in core.host.take(replies.map { .log($0) }) } }
                core.start()
                let content = Publication.Content(type: "n", payload: .json([0x31]))
                async let publication = core.publish(to: .abc, from: user, content, id: .number(1))
                await log.isAsked()
                group.addTask {
                    // Well after the stop began.
                    while !core.host.isStopping { await Task.yield() }
                    for _ in 1...100 { _ = try await core.figures() }
                    log.permit()
                }
                await core.stop()
                core.finish()
                #expect(try await publication.position.seq == 1)
                try await group.waitForAll()
            }
            await log.log.close()
        }

        @Test func `a publication after the end fails, also when the hub was not stopped explicitly`() async throws {
            let directory = try HubDirectory()
            let configuration = HubConfiguration(data: directory.path)
            let log = try await SQLiteRoomLog(directory: directory.path + "/log", retention: RoomRetention())
            let core = HubCore(
                configuration, machine: HubMachine(policy: configuration.policy, node: "hub", incarnation: 1, seed: 1), log: log,
                bus: LocalBus(), authority: DevelopmentAuthority(other: nil, isOn: true),
                loops: [MultiThreadedEventLoopGroup.singleton.next()])
            core.finish()
            let (user, content) = (try #require(UserName("robot")), Publication.Content(type: "n", payload: .json([0x31])))
            await #expect(throws: HubError.stopped) { try await core.publish(to: .abc, from: user, content, id: .number(1)) }
            await log.close()
        }
    }
}
