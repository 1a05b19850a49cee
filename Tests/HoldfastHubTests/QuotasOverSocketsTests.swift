import Holdfast
import RoomCore
import RoomsWire
import Testing

@testable import HoldfastHub

extension HubTests {
    /// Storage quotas of a running hub.
    @Suite struct QuotasOverSockets {
        private let directory = try? HubDirectory()

        @Test func `a user over the quota gets a retry time, and others go on`() async throws {
            let directory = try #require(directory)
            try await Hub.stage(directory) { $0.quotas.userPerDay = 1000 }.withRunning { hub in
                let (ann, bob) = (try await HubGuest(hub.url), try await HubGuest(hub.url, .protobuf))
                for (guest, name) in [(ann, "ann"), (bob, "bob")] {
                    try await guest.hello(token: "dev:\(name)")
                    try await guest.join()
                }
                for cseq in Int64(1)...2 {
                    try await ann.publish(cseq)
                    _ = try await ann.ack()
                }
                for cseq in Int64(3)...4 { try await ann.publish(cseq) }
                let refusal = try await ann.refusal()
                guard case .after(let wait) = refusal.retry else { throw HubGuest.Ended() }
                #expect(refusal.code == .quota && refusal.room == .abc && wait > 60_000 && wait <= 86_400_000)
                try await bob.publish(1)
                _ = try await bob.ack()
            }
        }

        @Test func `a hub leaves the configured space of its disk free`() async throws {
            let directory = try #require(directory)
            try await Hub.stage(directory) { $0.quotas.free = .max }.withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                var code: Refusal.Code?
                // The hub checks its disk when it starts.
                for cseq in Int64(1)...100_000 where code == nil {
                    try await ann.publish(cseq)
                    code = try await ann.next { (frame: HubFrame) -> Refusal.Code?? in
                        switch frame {
                        case .acks: .some(nil)
                        case .refusal(let refusal): refusal.code
                        default: nil
                        }
                    }
                }
                #expect(code == .quota)
            }
        }

        @Test func `the space that a log may still use is the least of its limits`() async throws {
            let directory = try #require(directory)
            let log = try await SQLiteRoomLog(directory: directory.path + "/log")
            let free = try #require(log.space(within: HubQuotas(free: 0)))
            #expect(free > 0)
            let bounded = try #require(log.space(within: HubQuotas(total: 1 << 20, free: 0)))
            #expect(bounded > 0 && bounded < 1 << 20)
            #expect(try #require(log.space(within: HubQuotas(total: 1, free: 0))) < 0)
            #expect(try #require(log.space(within: HubQuotas(free: .max / 2))) < 0)
            await log.close()
        }

        @Test func `a room's size is known after it is opened and after retention`() async throws {
            let directory = try #require(directory)
            let log = try await SQLiteRoomLog(directory: directory.path + "/log", retention: RoomRetention(count: 10))
            _ = await log.carryOut([.open(.abc)])
            #expect(await log.carryOut([LogSample.append(1...20, size: 1000)]) == [.appended(.abc, batch: 1)])
            _ = await log.carryOut([.release(.abc)])
            func size() async -> Int64 {
                guard case .opened(_, let head)? = await log.carryOut([.open(.abc)]).first else { return -1 }
                return head.bytes
            }
            let full = await size()
            #expect(full > 20_000)
            var weights: [Int64] = []
            for _ in 0..<3 {
                for case .weighed(.abc, let bytes) in await log.tend(now: LogSample.now).replies { weights.append(bytes) }
            }
            #expect(weights.last == full / 2)
            #expect(await size() == full / 2)
            await log.close()
        }

        @Test func `configured quotas reach the hub's policy`() {
            var configuration = HubConfiguration(data: "")
            #expect(configuration.quotas == HubQuotas())
            configuration.quotas = HubQuotas(userPerDay: nil, room: nil, total: 5, free: -1)
            #expect(configuration.quotas == HubQuotas(userPerDay: nil, room: nil, total: 5, free: 0))
            configuration.quotas.userPerDay = 7
            #expect(configuration.policy.userDay == 7 && configuration.policy.roomBytes == .max)
        }
    }
}
