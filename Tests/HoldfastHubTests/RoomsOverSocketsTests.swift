import Holdfast
import HoldfastServer
import RoomCore
import RoomsWire
import Testing
import WebSocketCore

@testable import HoldfastHub
import WebSocketRuntime

extension HubTests {
    /// A hub and its clients over sockets.
    @Suite struct RoomsOverSocketsTests {
        private let directory: HubDirectory

        init() throws { directory = try HubDirectory() }

        @Test(arguments: RoomsEncoding.allCases)
        func `a message is acked when it is stored, and delivered to every member once`(encoding: RoomsEncoding) async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url, encoding)
                let bob = try await HubGuest(hub.url, encoding == .json ? .protobuf : .json)
                #expect(try await ann.hello().user.text == "ann")
                #expect(try await bob.hello(token: "dev:bob").user.text == "bob")
                let state = try await ann.join()
                #expect(state.head == 0 && state.rights == .member)
                try await bob.join()
                try await ann.publish(1, "one")
                try await ann.publish(2, "two")
                #expect(try await ann.ack().seq == 1)
                var seen: [Int64] = []
                while seen.count < 2 { seen += try await bob.entries().map(\.seq) }
                #expect(seen == [1, 2])
                await ann.connection.close()
                await bob.connection.close()
            }
        }

        @Test func `after a restart acked messages are there in the same epoch, and a repeat is not stored again`() async throws {
            var chance = SystemRandomNumberGenerator()
            let device = DeviceID(using: &chance)
            let epoch = try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url, device: device)
                try await ann.hello()
                let state = try await ann.join()
                try await ann.publish(1)
                #expect(try await ann.ack().isDuplicate == false)
                return state.epoch
            }
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url, device: device)
                try await ann.hello()
                let state = try await ann.join()
                #expect(state.epoch == epoch && state.head == 1 && state.high == 1 && state.highID == .number(1))
                try await ann.publish(1)
                let ack = try await ann.ack()
                #expect(ack.isDuplicate && ack.seq == 1)
            }
        }

        @Test func `a client without a subprotocol gets JSON`() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url, offers: false)
                #expect(ann.connection.subprotocol == nil)
                try await ann.hello()
            }
        }

        @Test func `the first known subprotocol is selected, and without a known one the upgrade is refused`() async throws {
            try await Hub.stage(directory).withRunning { hub -> Void in
                let ann = try await HubGuest(hub.url) { $0.subprotocols = ["other", RoomsEncoding.protobuf.subprotocol] + $0.subprotocols }
                #expect(ann.connection.subprotocol == RoomsEncoding.protobuf.subprotocol)
                await #expect(throws: WebSocketError.self) { try await HubGuest(hub.url) { $0.subprotocols = ["other"] } }
            }
        }

        @Test(arguments: ["nonsense", "{\"t\":\"hello\"}"])
        func `an invalid frame is reported, and the connection is closed`(text: String) async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.connection.send(.text(text))
                #expect(try await ann.refusal().code == .malformed)
                #expect(try await ann.closeCode() == 4100)
            }
        }

        @Test(arguments: RoomsEncoding.allCases)
        func `an unreadable publication is refused alone, and the connection stays open`(encoding: RoomsEncoding) async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url, encoding)
                try await ann.hello()
                try await ann.join()
                let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
                for (type, json) in [("", "1"), ("t", deep), ("t", "\"\\ud800\""), ("t", "1e999")] {
                    let content = Publication.Content(type: type, payload: .json(Array(json.utf8)))
                    try await ann.send(.publish(.abc, Publication(cseq: 1, id: .number(1), sent: WallClock.milliseconds, content: content)))
                    let refusal = try await ann.refusal()
                    #expect(refusal.code == .malformed && refusal.retry == .never && refusal.room == .abc && refusal.cseq == 1)
                }
                try await ann.publish(1)
                #expect(try await ann.ack().seq == 1)
                await ann.connection.close()
            }
        }

        @Test func `frames of unknown types are ignored`() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.connection.send(.text("{\"t\":\"later\"}"))
                try await ann.hello()
            }
        }

        @Test func `a newer connection of a device replaces the older one`() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let old = try await HubGuest(hub.url)
                try await old.hello()
                let new = try await HubGuest(hub.url, device: old.device)
                try await new.hello()
                #expect(try await old.closeCode() == 4000)
            }
        }

        @Test func `a frame that is too long closes the connection, and a payload that is too long does not`() async throws {
            try await Hub.stage(directory) { ($0.limits.frame, $0.limits.body) = (4096, 1024) }.withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                try await ann.publish(1, String(repeating: "x", count: 1100))
                #expect(try await ann.refusal().code == .size)
                try await ann.publish(1, String(repeating: "x", count: 5000))
                #expect(try await ann.closeCode() == CloseCode.messageTooBig.rawValue)
            }
        }

        @Test func `a member that does not read does not slow the room, and gets a lag frame`() async throws {
            let (count, body) = (Int64(400), String(repeating: "x", count: 60_000))
            let hub = Hub.stage(directory) { configuration in
                configuration.lanes.stored = 256 << 10
                configuration.policy.connection.bytes = HubPolicy.Rate(perSecond: 1 << 30, burst: 1 << 30)
                configuration.policy.connection.messages = HubPolicy.Rate(perSecond: 10_000, burst: 10_000)
                configuration.policy.user = configuration.policy.address
                // It does not read while the disk writes.
                configuration.policy.slowFor = .seconds(600)
                (configuration.server.slowConsumers, configuration.server.timeouts.pingInterval) = (.wait, nil)
            }
            try await hub.withRunning { hub in
                let (ann, bob, slow) = (try await HubGuest(hub.url), try await HubGuest(hub.url), try await HubGuest(hub.url))
                for (guest, name) in [(ann, "ann"), (bob, "bob"), (slow, "slow")] {
                    try await guest.hello(token: "dev:\(name)")
                    try await guest.join()
                }
                // No one reads from `slow`, so the TCP buffers fill up, and then the hub's lane.
                for cseq in 1...count {
                    try await ann.publish(cseq, body)
                    let seqs = try await bob.entries().map(\.seq)
                    #expect(seqs == [cseq])
                    _ = try await ann.ack()
                }
                var last: Int64 = 0
                let head = try await slow.next { frame -> Int64? in
                    if case .entries(_, _, let entries, _) = frame {
                        for entry in entries {
                            #expect(entry.seq == last + 1)
                            last = entry.seq
                        }
                    }
                    if case .lag(_, let head) = frame { return head }
                    return nil
                }
                #expect(last < count && head == count)
            }
        }

        @Test func `a closed client that does not read is dropped after a short time`() async throws {
            let hub = Hub.stage(directory) { configuration in
                configuration.lanes.stored = 256 << 10
                (configuration.lanes.closeTimeout, configuration.server.timeouts.close) = (.milliseconds(50), .milliseconds(50))
                configuration.policy.connection = configuration.policy.address
                configuration.policy.user = configuration.policy.address
                // Nothing else ends the connection.
                configuration.policy.slowFor = .seconds(600)
                (configuration.server.slowConsumers, configuration.server.timeouts.pingInterval) = (.wait, nil)
            }
            try await hub.withRunning { hub in
                let (ann, slow) = (try await HubGuest(hub.url), try await HubGuest(hub.url))
                for guest in [ann, slow] {
                    try await guest.hello()
                    try await guest.join()
                }
                // Runs until only one of the two gets entries, because the other's lane is full.
                var (cseq, told, news) = (Int64(0), UInt64(0), UInt64(2))
                while news != 1 {
                    cseq += 1
                    try await ann.publish(cseq, String(repeating: "x", count: 60_000))
                    _ = try await ann.ack()
                    let delivered = try await hub.core.figures().delivered
                    (news, told) = (delivered - told, delivered)
                }
                // A newer connection of its device replaces it.
                let newer = try await HubGuest(hub.url, device: slow.device)
                try await newer.hello()
                while hub.server.connectionCount > 2 { await Task.yield() }
                #expect(hub.core.gauges.connections == 2)
            }
        }

        @Test func `ephemeral frames are dropped before stored ones wait`() async throws {
            let hub = Hub.stage(directory) { configuration in
                let rate = HubPolicy.Rate(perSecond: 1 << 30, burst: 1 << 30)
                configuration.policy.signals = rate
                (configuration.policy.connection.ephemeral, configuration.policy.user.ephemeral) = (rate, rate)
                (configuration.policy.address.ephemeral, configuration.policy.userDeliveries) = (rate, rate)
                (configuration.policy.roomDeliveries, configuration.policy.deliveries) = (rate, rate)
            }
            try await hub.withRunning { hub in
                let (ann, slow) = (try await HubGuest(hub.url), try await HubGuest(hub.url))
                try await ann.hello()
                try await ann.join()
                try await slow.hello(token: "dev:slow")
                try await slow.join()
                let payload = Payload.json(Array("\"\(String(repeating: "x", count: 4000))\"".utf8))
                let signal = ClientFrame.signal(.abc, Signal(type: "cursor", payload: payload))
                var number: Int64 = 0
                while try await hub.dropped == 0 {
                    for _ in 0..<200 { try await ann.send(signal) }
                    // One at a time, so that the hub has handled all of them.
                    number += 1
                    try await ann.send(.ping(number))
                    try await ann.next { if case .pong(let pong, _) = $0, pong == number { () } else { nil } }
                }
                // Stored entries still arrive, after the frames in the socket's buffers.
                try await ann.publish(1)
                #expect(try await slow.entries().map(\.seq) == [1])
            }
        }

        @Test func `a stopping hub sends a retry time and acks what it accepted`() async throws {
            let (guests, early) = try await Hub.stage(directory).withRunning { hub in
                var guests: [HubGuest] = []
                for number in 1...4 {
                    let guest = try await HubGuest(hub.url)
                    try await guest.hello(token: "dev:\(number)")
                    try await guest.join()
                    guests.append(guest)
                }
                try await guests[0].publish(1)
                // When this answer has come, the hub has the publication, stored or not.
                try await guests[0].send(.ping(1))
                var acks: [Int64] = []
                try await guests[0].next { frame -> Void? in
                    if case .acks(_, _, let acked) = frame { acks += acked.map(\.seq) }
                    return if case .pong = frame { () } else { nil }
                }
                return (guests, acks)
            }
            var (waits, acks) = (Set<Int64>(), early)
            for guest in guests {
                while let frame = try? await guest.next() {
                    if case .goaway(let goaway) = frame { waits.insert(goaway.after) }
                    if case .acks(_, _, let acked) = frame { acks += acked.map(\.seq) }
                }
                #expect(guest.connection.closeRecord?.received?.code?.rawValue == 4004)
            }
            #expect(waits.count > 1)
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                #expect(acks == [1])
                #expect(try await ann.join().head == 1)
            }
        }

        @Test func `two hubs cannot use one log`() async throws {
            try await Hub.stage(directory).withRunning { [directory] _ -> Void in
                await #expect(throws: HubError.self) { try await Hub.stage(directory).withRunning { _ in } }
            }
        }

        @Test func `a hub that listens on other interfaces accepts no development tokens`() async throws {
            await #expect(throws: HubError.self) { try await Hub.stage(directory) { $0.server.host = "0.0.0.0" }.withRunning { _ in } }
        }

        @Test func `a server publication is stored once for each ID`() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                try await ann.join()
                let content = Publication.Content(type: "news", payload: .json(Array("1".utf8)))
                let user = try #require(UserName("server"))
                let first = try await hub.publish(to: .abc, from: user, content, id: .number(5))
                let again = try await hub.publish(to: .abc, from: user, content, id: .number(5))
                #expect(first.position.seq == 1 && !first.isDuplicate && again.position == first.position && again.isDuplicate)
                let entries = try await ann.entries()
                #expect(entries.map(\.user.text) == ["server"])
                await #expect(throws: PublishingRefusal.self) {
                    let long = Publication.Content(type: "news", payload: .binary([UInt8](repeating: 0, count: 100_000)))
                    try await hub.publish(to: .abc, from: user, long, id: .number(6))
                }
            }
        }
    }
}

extension RunningHub {
    /// The number of frames that were dropped for slow clients.
    fileprivate var dropped: Int { get async throws { core.gauges.read().dropped } }
}
