import Foundation
import Holdfast
import HoldfastServer
import JWTKit
import RoomCore
import Testing
import WebSocketCore

@testable import HoldfastHub

extension HubTests {
    /// How a hub authenticates clients.
    @Suite struct HubAuthTests {
        private static let secret = Array("a secret of more than thirty-two bytes".utf8)
        private let directory: HubDirectory

        init() throws { directory = try HubDirectory() }

        private struct Claims: JWTPayload {
            var sub = "ann"
            var exp = Date().timeIntervalSince1970 + 600
            var rooms = ["abc": "r"]

            func verify(using algorithm: some JWTAlgorithm) {}
        }

        private func token(_ claims: Claims = Claims()) async throws -> String {
            try await JWTKeyCollection().add(hmac: HMACKey(from: Self.secret), digestAlgorithm: .sha256).sign(claims)
        }

        private func hub() async throws -> Hub {
            let key = try await TokenKey.secret(Self.secret)
            return Hub.stage(directory) { ($0.takesDevelopmentTokens, $0.authority) = (false, TokenVerifier(keys: [key])) }
        }

        @Test func `a valid token is accepted and gives the rights in it`() async throws {
            let token = try await token()
            try await hub().withRunning { hub in
                let ann = try await HubGuest(hub.url)
                let welcome = try await ann.hello(token: token)
                #expect(welcome.user.text == "ann" && welcome.expires > welcome.now)
                #expect(try await ann.join().rights == .read)
                try await ann.publish(1)
                let refusal = try await ann.refusal()
                #expect(refusal.code == .rights && refusal.retry == .never && refusal.cseq == 1)
            }
        }

        @Test func `a token may be sent with the upgrade request`() async throws {
            let token = try await token()
            try await hub().withRunning { hub in
                let header = try await HubGuest(hub.url) { $0.headers["Authorization"] = "Bearer \(token)" }
                #expect(try await header.hello(token: nil).user.text == "ann")
                let query = try await HubGuest(hub.url + "?token=\(token)")
                #expect(try await query.hello(token: nil).user.text == "ann")
            }
        }

        @Test func `without a valid token a connection is closed with 4101, and a development token does not help`() async throws {
            try await hub().withRunning { hub in
                for token in [nil, "dev:ann", "nonsense"] {
                    let guest = try await HubGuest(hub.url)
                    try await guest.send(.hello(ClientFrame.Hello(versions: [1], device: guest.device, token: token)))
                    #expect(try await guest.refusal().code == .token)
                    #expect(try await guest.closeCode() == 4101)
                }
            }
        }

        @Test func `an expired token closes the connection with 4001, so that the client reconnects with a new one`() async throws {
            let token = try await token(Claims(exp: Date().timeIntervalSince1970 - 60))
            try await hub().withRunning { hub in
                let guest = try await HubGuest(hub.url)
                try await guest.send(.hello(ClientFrame.Hello(versions: [1], device: guest.device, token: token)))
                let refusal = try await guest.refusal()
                #expect(refusal.code == .expired && refusal.retry == .reconnect)
                #expect(try await guest.closeCode() == 4001)
            }
        }

        @Test func `a fresh token is accepted while connected`() async throws {
            let (token, later) = (try await token(), try await token(Claims(exp: Date().timeIntervalSince1970 + 6000)))
            try await hub().withRunning { hub in
                let ann = try await HubGuest(hub.url)
                let welcome = try await ann.hello(token: token)
                try await ann.send(.auth(token: later))
                let expires = try await ann.next { if case .renewed(let expires) = $0 { expires } else { nil } }
                #expect(expires > welcome.expires)
            }
        }

        @Test func `pages of other origins are refused unless the origin policy lists them`() async throws {
            let own = Hub.stage(directory) { $0.origins = ["https://app.example.com"] }
            try await own.withRunning { hub in
                func opens(_ origin: String) async -> Bool {
                    (try? await HubGuest(hub.url) { $0.headers["Origin"] = origin }) != nil
                }
                #expect(await opens("https://app.example.com"))
                #expect(await opens("http://127.0.0.1:\(hub.server.port)"))
                #expect(await !opens("https://evil.example.com"))
            }
        }

        @Test func `a request with proxy headers may not use a development token`() async throws {
            try await Hub.stage(directory).withRunning { hub in
                let guest = try await HubGuest(hub.url) { $0.headers["X-Forwarded-For"] = "10.0.0.1" }
                try await guest.send(.hello(ClientFrame.Hello(versions: [1], device: guest.device, token: "dev:ann")))
                #expect(try await guest.refusal().code == .token)
            }
        }
    }
}
