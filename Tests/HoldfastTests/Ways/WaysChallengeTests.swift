import Holdfast
import HoldfastServer
import HoldfastTesting
import WebSocketRuntime
import Testing

/// How the provider of credentials learns of a 401's challenge.
@Suite(.timeLimit(.minutes(1))) struct WaysChallengeTests {
    /// Records the requests and returns a credential.
    private final class WaysProvider: Sendable {
        private let recorded = LockedValue<[CredentialRequest]>([])

        /// The requests so far; each is a list of its challenges as text.
        var requests: [[String]] {
            recorded.withLockedValue { $0.map { $0.challenges.map { "\($0.scheme) \($0.realm ?? "-") \($0.error ?? "-")" } } }
        }

        func answer(_ request: CredentialRequest) -> Credential {
            recorded.withLockedValue { $0.append(request) }
            return Credential("token")
        }
    }

    private static func refusal(_ status: Int) -> TransportError {
        var error = TransportError(.refused, "refused")
        error.response = ResponseHead(status: status, headers: ["WWW-Authenticate": "Bearer realm=\"feed\", error=\"invalid_token\""])
        return error
    }

    @Test func `the provider gets the challenge once, after an attempt that was refused with 401`() async throws {
        let provider = WaysProvider()
        let stage = Stage { $0.credentials = .bearer { provider.answer($0) } }
        let challenge = ["bearer feed invalid_token"]
        for (error, pause) in [(Self.refusal(401), 1), (Self.refusal(503), 2), (.down, 4)] {
            try await stage.refuse(error)
            await stage.pause(of: .seconds(pause))
        }
        _ = try await stage.accept()
        #expect(provider.requests == [[], challenge, [], []])
    }

    @Test func `a challenge that was answered is not repeated for the next connection`() async throws {
        let provider = WaysProvider()
        let stage = Stage { $0.credentials = .bearer { provider.answer($0) } }
        try await stage.refuse(Self.refusal(401))
        await stage.pause(of: .seconds(1))
        let connection = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        connection.abort()
        await stage.pause(of: .seconds(2))
        _ = try await stage.accept()
        #expect(provider.requests == [[], ["bearer feed invalid_token"], []])
    }

    @Test func `a provider answers in the scheme that the server requires`() async throws {
        let server = WebSocketServer { request in
            if request.headers["Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" { return .accept }
            return .refuse(HTTPResponse(status: 401, headers: ["WWW-Authenticate": "Digest nonce=n, Basic realm=\"the cave\""]))
        } handler: { connection, _ in
            try await connection.send(.text("welcome"))
        }
        try await server.withRunning { server in
            let socket = WebSocket(server.url()) { options in
                options.credentials = .bearer { request in
                    guard request.challenge("basic")?.realm == "the cave" else { return Credential("token") }
                    return .basic(user: "Aladdin", password: "open sesame")
                }
                (options.reconnect.backoff.base, options.reconnect.spacing) = (.milliseconds(10), .zero)
            }
            var received: Message?
            for await event in socket.events {
                guard case .message(let message) = event else { continue }
                received = message
                break
            }
            #expect(received == .text("welcome"))
            await socket.close()
        }
    }

    @Test func `a provider of names and passwords gets the challenge too`() async throws {
        let recorded = LockedValue<[String?]>([])
        let stage = Stage {
            $0.credentials = .basic { request in
                recorded.withLockedValue { $0.append(request.challenges.first?.realm) }
                return ("Aladdin", "open sesame")
            }
        }
        let attempt = try #require(await stage.server.nextAttempt())
        #expect((attempt.request.credential?.secret, attempt.request.credential?.placement) == ("Aladdin:open sesame", .basic))
        attempt.refuse(Self.refusal(401))
        await stage.pause(of: .seconds(1))
        _ = try await stage.accept()
        #expect(recorded.withLockedValue { $0 } == [nil, "feed"])
    }
}
