import Holdfast
import HoldfastServer
import HoldfastTesting
import WebSocketRuntime
import Testing
import WebSocketCore

/// When credentials are fetched, and how failures are handled.
@Suite(.timeLimit(.minutes(1))) struct SessionCredentialTests {
    /// Returns `token-1`, `token-2` and so on; fails with the given error.
    final class Tokens: Sendable {
        private let state = LockedValue((count: 0, failure: (any Error & Sendable)?.none, life: Duration?.none))
        var count: Int { state.withLockedValue(\.count) }

        init(life: Duration? = nil) { state.withLockedValue { $0.life = life } }

        func fail(with error: (any Error & Sendable)?) { state.withLockedValue { $0.failure = error } }

        func next() throws -> Credential {
            try state.withLockedValue { state in
                if let failure = state.failure { throw failure }
                state.count += 1
                return Credential("token-\(state.count)", expiresIn: state.life)
            }
        }
    }

    private func stage(_ tokens: Tokens) -> Stage {
        Stage { $0.credentials = .bearer { try tokens.next() } }
    }

    @Test func `a fresh credential is fetched before every attempt`() async throws {
        let stage = stage(Tokens())
        for (number, pause) in [(1, 1), (2, 2), (3, 4)] {
            let attempt = try #require(await stage.server.nextAttempt())
            #expect(attempt.request.credential?.secret == "token-\(number)")
            attempt.refuse(.down)
            await stage.pause(of: .seconds(pause))
        }
    }

    @Test func `after a 401 the next attempt has a new credential, and a second 401 in a row is final`() async throws {
        let stage = stage(Tokens())
        var reader = stage.eventReader()
        try await stage.refuse(.refused(401))
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .refused))
        await stage.pause(of: .seconds(1))
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.credential?.secret == "token-2")
        attempt.refuse(.refused(401))
        #expect(await reader.next() == .closed(.refused))
    }

    @Test func `a provider with a temporary error is called again, and one with a permanent error ends the socket`() async throws {
        let tokens = Tokens()
        tokens.fail(with: CredentialUnavailable(isRetryable: true, "offline"))
        let stage = stage(tokens)
        var reader = stage.eventReader()
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .noCredential))
        tokens.fail(with: CredentialUnavailable(isRetryable: false, "signed out"))
        await stage.pause(of: .seconds(1))
        #expect(await reader.next() == .closed(.noCredential))
        #expect(stage.attempts.total == 0)
    }

    @Test func `an error of the provider reaches the app with its text, which the log omits`() async throws {
        struct Locked: Error {}
        let tokens = Tokens()
        tokens.fail(with: CredentialUnavailable(isRetryable: false, "signed out"))
        var errors: [WebSocketError?] = []
        for await event in stage(tokens).socket.events { if case .closed(let closure) = event { errors.append(closure.error) } }
        let other = Stage {
            $0.credentials = .bearer { throw Locked() }
            $0.reconnects = false
        }
        for await state in other.socket.states {
            guard case .disconnected(let error?) = state else { continue }
            errors.append(error)
            break
        }
        #expect(errors.first??.description == "the provider of credentials failed: signed out")
        #expect(errors.first??.underlying is CredentialUnavailable)
        #expect(errors.last??.description == "the provider of credentials failed: Locked()")
        #expect(errors.last??.transport.detail == "the provider of credentials failed")
    }

    @Test func `before a credential expires a new connection takes over and then the old one is closed`() async throws {
        let stage = stage(Tokens(life: .seconds(600)))
        var reader = stage.eventReader()
        let old = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await old.send(.text("old"))
        await stage.pause(of: .seconds(30))  // The timeout of the first fetch still sleeps.
        await stage.pause(of: .seconds(540))
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.credential?.secret == "token-2")
        #expect(old.closeRecord == nil)
        try await old.send(.text("still old"))
        let new = attempt.accept()
        // The old connection is closed once the new one is open.
        guard case .success(let record) = await old.ended() else { return #expect(Bool(false), "the old connection broke") }
        #expect(record.code == .normal && record.closedFirst == .remote)
        try await new.send(.text("new"))
        #expect(await reader.next() == .message(.text("old")))
        #expect(await reader.next() == .message(.text("still old")))
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("new")))
    }

    @Test func `a provider that never answers times out, and this is the cause of the failure`() async throws {
        let stage = Stage { $0.credentials = .bearer { while true { try await Task.sleep(for: .seconds(3600)) } } }
        var reader = stage.eventReader()
        await stage.pause(of: .seconds(30))
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .noCredential))
    }

    @Test func `no description of a credential contains the secret`() async throws {
        let credential = Credential("top-secret", expiresIn: .seconds(1))
        var dumped = ""
        dump(credential, to: &dumped)
        let attempt = "\(credential) \(String(reflecting: credential)) \(dumped)"
        #expect(!attempt.contains("top-secret"))
    }
}

extension SocketTests {
    @Suite struct CredentialTests {
        @Test func `a token is in the request, and a refused one is replaced`() async throws {
            let seen = LockedValue<[String?]>([])
            let server = WebSocketServer(upgrade: { request in
                let token = request.head.headers["Authorization"]
                seen.withLockedValue { $0.append(token) }
                return token == "Bearer token-2" ? .accept : .refuse(HTTPResponse(status: 401))
            }) { connection, _ in
                for try await message in connection.messages { try await connection.send(message) }
            }
            try await server.withRunning { server in
                let tokens = SessionCredentialTests.Tokens()
                let socket = WebSocket(server.url()) { options in
                    options.credentials = .bearer { try tokens.next() }
                    (options.reconnect.backoff.base, options.reconnect.spacing) = (.milliseconds(10), .zero)
                }
                try await socket.send(.text("hello"))
                for await event in socket.events {
                    guard case .message(let message) = event else { continue }
                    #expect(message == .text("hello"))
                    break
                }
                await socket.close()
            }
            #expect(seen.withLockedValue(\.self) == ["Bearer token-1", "Bearer token-2"])
        }
    }
}
