import Holdfast
import HoldfastServer
import RoomCore
import RoomsWire
import Testing

@testable import HoldfastHub

extension HubTests {
    /// The limits of a user and of an address.
    @Suite struct LimitsOverSocketsTests {
        private let directory: HubDirectory

        init() throws { directory = try HubDirectory() }

        /// An authority that takes the token as the user's name.
        private struct NameAuthority: HubAuthority {
            func identify(_ token: String?, isLocal: Bool) async throws(TokenRefusal) -> Identity {
                guard let user = token.flatMap(UserName.init) else { throw TokenRefusal(.missing, "there is no name") }
                return Identity(user: user, grants: [Grant("*", .member)], expires: nil)
            }
        }

        @Test func `a user has a limit of connections over all subprotocols`() async throws {
            try await Hub.stage(directory) { $0.perUser.connections = 2 }.withRunning { hub in
                var guests: [HubGuest] = []
                for encoding in RoomsEncoding.allCases {
                    guests.append(try await HubGuest(hub.url, encoding))
                    try await guests.last?.hello()
                }
                let third = try await HubGuest(hub.url)
                try await third.send(.hello(ClientFrame.Hello(versions: [1], device: third.device, token: "dev:ann")))
                let refusal = try await third.refusal()
                #expect(refusal.code == .count && refusal.retry == .after(10_000))
                #expect(try await third.closeCode() == 4003)
                try await HubGuest(hub.url).hello(token: "dev:bob")
                // A connection that ends gives its place back.
                await guests[0].connection.close()
                while (try? await HubGuest(hub.url).hello()) == nil { await Task.yield() }
            }
        }

        @Test func `a user has a publish rate over all connections, and others are not affected`() async throws {
            // A burst of eight, and one a second.
            try await Hub.stage(directory) { $0.perUser.messages = 1 }.withRunning { hub in
                let (one, two, bob) = (try await HubGuest(hub.url), try await HubGuest(hub.url, .protobuf), try await HubGuest(hub.url))
                for (guest, name) in [(one, "ann"), (two, "ann"), (bob, "bob")] {
                    try await guest.hello(token: "dev:\(name)")
                    try await guest.join()
                }
                for cseq in Int64(1)...4 {
                    try await one.publish(cseq)
                    _ = try await one.ack()
                }
                // Even a very slow machine does not refill that much in time.
                for cseq in Int64(1)...200 { try await two.publish(cseq) }
                let refusal = try await two.refusal()
                guard case .after(let wait) = refusal.retry else { throw HubGuest.Ended() }
                #expect(refusal.code == .rate && wait > 0 && refusal.room == .abc)
                try await bob.publish(1)
                _ = try await bob.ack()
            }
        }

        @Test func `an unauthenticated client may send a long frame only while few others of its address do`() async throws {
            let joins = (1...1000).map { ClientFrame.Join(room: RoomName(String(repeating: "long ", count: 16) + "\($0)") ?? .abc) }
            for places in [0, 1] {
                try await Hub.stage(HubDirectory()) { $0.lanes.longGreetings = places }.withRunning { hub in
                    let ann = try await HubGuest(hub.url)
                    if places == 0 {
                        let hello = ClientFrame.Hello(versions: [1], device: ann.device, token: "dev:ann", joins: joins)
                        try? await ann.send(.hello(hello))
                        #expect(try await ann.closeCode() == 1009)
                    } else {
                        try await ann.hello(joins: joins)
                    }
                    // An authenticated client has the usual limit.
                    let bob = try await HubGuest(hub.url)
                    try await bob.hello(token: "dev:bob")
                    try await bob.join()
                    try await bob.publish(1, String(repeating: "x", count: 65_530))
                    _ = try await bob.ack()
                    let long = ClientFrame.auth(token: String(repeating: "x", count: 70_000))
                    try await bob.send(long)
                    try #expect(await bob.refusal().code == .token, "the frame was read, and its token was refused")
                }
            }
        }

        @Test func `an address has a limit of connections`() async throws {
            try await Hub.stage(directory) { $0.perAddress.connections = 1 }.withRunning { hub in
                let ann = try await HubGuest(hub.url)
                try await ann.hello()
                let second = try await HubGuest(hub.url)
                let refusal = try await second.refusal()
                #expect(refusal.code == .count && refusal.retry == .after(10_000))
                #expect(try await second.closeCode() == 4003)
            }
        }

        @Test func `behind a proxy the address is the one that the proxy adds, not one that the client sends`() async throws {
            let hub = Hub.stage(directory) { configuration in
                (configuration.isBehindProxy, configuration.takesDevelopmentTokens) = (true, false)
                (configuration.authority, configuration.perAddress.connections) = (NameAuthority(), 1)
            }
            try await hub.withRunning { hub in
                func guest(_ chain: String) async throws -> HubGuest {
                    try await HubGuest(hub.url) { $0.headers["X-Forwarded-For"] = chain }
                }
                let ann = try await guest("10.0.0.1")
                try await ann.hello(token: "ann")
                let bob = try await guest("10.0.0.1, 10.0.0.2")
                try await bob.hello(token: "bob")
                #expect(try await guest("10.0.0.9, 10.0.0.1").refusal().code == .count)
                withExtendedLifetime((ann, bob)) {}
            }
        }

        @Test func `configured limits reach the hub's policy`() {
            var configuration = HubConfiguration(data: "")
            #expect(configuration.perAddress.connections == 1000)
            (configuration.perUser.connections, configuration.perConnection.messages) = (3, 400)
            #expect(configuration.policy.user.connections == 3 && configuration.policy.user.messages == HubPolicy().user.messages)
            // Twice the rate and twice the burst.
            let usual = HubPolicy().connection.messages
            #expect(configuration.policy.connection.messages == HubPolicy.Rate(perSecond: 400, burst: usual.burst * 400 / usual.perSecond))
            // A publish rate above the frame rate raises the frame rate to the same value.
            configuration.perConnection.messages = 5000
            #expect(configuration.policy.frames.perSecond == 10_000)
            for _ in 0..<2 {
                (configuration.perUser.messages, configuration.perUser.bytes) = (.max, .max)
                configuration.perUser.joins = .max
                #expect(configuration.policy.user.joins.burst >= 1 << 30)
            }
            configuration.perAddress.bytes = .max
            configuration.perAddress.joins = .min
            #expect(configuration.policy.address.bytes.perSecond == 1 << 30 && configuration.policy.address.joins.perSecond == 1)
            #expect(configuration.policy.address.joins.burst > 0)
        }

        private static let wrong: [@Sendable (inout HubConfiguration) -> Void] = [
            { $0.isBehindProxy = true }, { $0.server.unixSocket = "/tmp/holdfast" }, { $0.server.host = "0.0.0.0" },
            { $0.origins = ["https://example.org/"] }, { $0.retention.bytes = 0 }, { $0.retention.count = -1 },
            { $0.apiKeys = ["short"] },
        ]

        @Test(arguments: wrong.indices)
        func `an invalid configuration is reported as an error`(index: Int) async throws {
            let hub = Hub.stage(directory, Self.wrong[index])
            let error = await #expect(throws: HubError.self) { try await hub.withRunning { _ in } }
            guard case .configuration? = error else { throw HubGuest.Ended() }
        }
    }
}
