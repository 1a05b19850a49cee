import Foundation
import HoldfastTesting
import WebSocketRuntime
import Testing

@testable import Holdfast

/// A socket that gets its tokens from a keeper.
@Suite(.timeLimit(.minutes(1))) struct TokenCredentialTests {
    private static func refusal(_ status: Int) -> TransportError {
        var error = TransportError(.refused, "refused")
        error.response = ResponseHead(status: status, headers: [:])
        return error
    }

    private static func request(after secret: String) -> CredentialRequest {
        CredentialRequest(refused: Credential(secret), isRefused: true)
    }

    @Test func `a refused token is replaced, even without a challenge`() async throws {
        let requests = LockedValue<[String]>([])
        let stage = Stage {
            $0.credentials = .bearer { (request: CredentialRequest) in
                requests.withLockedValue {
                    $0.append(request.isRefused ? "not \(request.refused?.secret ?? "known")" : "any")
                    return Credential("token \($0.count)")
                }
            }
        }
        try await stage.refuse(Self.refusal(503))
        await stage.pause(of: .seconds(1))
        try await stage.refuse(Self.refusal(401))
        await stage.pause(of: .seconds(2))
        let connection = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        connection.abort()
        await stage.pause(of: .seconds(4))
        _ = try await stage.accept()
        #expect(requests.withLockedValue { $0 } == ["any", "any", "not token 2", "any"])
    }

    @Test func `a keeper gives a socket its token, and another one after a refusal`() async throws {
        let store = MemoryTokenStore(StoredToken("old", refresh: "r"))
        let keeper = TokenKeeper(store) { StoredToken("new of \($0.refresh ?? "-")") }
        let provider = CredentialProvider.bearer(keeper)
        #expect(try await provider.answer(CredentialRequest()).secret == "old")
        #expect(try await provider.answer(CredentialRequest()).secret == "old")
        #expect(try await provider.answer(Self.request(after: "old")).secret == "new of r")
        #expect(store.load()?.secret == "new of r")
    }

    @Test func `sockets that share a provider get the token that was renewed for one of them`() async throws {
        let keeper = TokenKeeper(MemoryTokenStore(StoredToken("old", refresh: "r"))) { StoredToken("new of \($0.refresh ?? "-")") }
        let provider = CredentialProvider.bearer(keeper)
        #expect(try await provider.answer(Self.request(after: "old")).secret == "new of r")
        #expect(try await provider.answer(Self.request(after: "old")).secret == "new of r")
    }

    @Test func `the description of a request omits the refused token`() {
        let request = Self.request(after: "hidden")
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), dumped] { #expect(!text.contains("hidden")) }
    }

    @Test func `a credential expires with its token`() async throws {
        let store = MemoryTokenStore(StoredToken("old", expires: Date(timeIntervalSinceNow: 3600)))
        let life = try #require(try await CredentialProvider.bearer(TokenKeeper(store)).answer(CredentialRequest()).expiresIn)
        #expect((.seconds(3590)...(.seconds(3600))).contains(life))
    }
}
