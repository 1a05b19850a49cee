import Foundation
import WebSocketRuntime
import Testing

@testable import Holdfast

extension TokenKeeper {
    /// Gives other tasks time to run, so that a call that wrongly does not wait would finish.
    fileprivate func letOthersRun() async { for _ in 0..<100 { await Task.yield() } }
}

/// The order of changes to a keeper's store.
@Suite(.timeLimit(.minutes(1))) struct TokenTurnTests {
    private enum Call: Hashable { case load, save(String), delete }

    /// A store that reports every call, and can be made to wait in one.
    private struct SlowStore: TokenStore {
        let memory = MemoryTokenStore(StoredToken("first", refresh: "refresh 0", expires: Date(timeIntervalSince1970: 0)))
        let calls = AsyncStream.makeStream(of: Call.self)
        let gate = AsyncStream.makeStream(of: Never.self)
        let slow = LockedValue<Call?>(nil)
        let isFull = LockedValue(false)

        private func called(_ call: Call) async {
            calls.continuation.yield(call)
            if slow.withLockedValue({ $0 }) == call { for await _ in gate.stream {} }
        }

        func load() async -> StoredToken? {
            await called(.load)
            return memory.load()
        }
        func save(_ token: StoredToken) async throws {
            await called(.save(token.secret))
            if isFull.withLockedValue({ $0 }) { throw TokenStoreError.file(errno: 28, "full") }
            memory.save(token)
        }
        func delete() async {
            await called(.delete)
            memory.delete()
        }

        func wait(in call: Call) { slow.withLockedValue { $0 = call } }
        func waitFor(_ call: Call) async { for await seen in calls.stream where seen == call { return } }
    }

    private let store = SlowStore()
    private let refreshed = LockedValue<[String]>([])

    private func keeper() -> TokenKeeper {
        TokenKeeper(store, margin: .zero, now: { Date(timeIntervalSince1970: 1000) }) { [refreshed] token in
            refreshed.withLockedValue { $0.append(token.secret) }
            return StoredToken("fresh", refresh: "refresh 1", expires: nil)
        }
    }

    /// A keeper whose refresh can call the keeper itself.
    private func keeper(_ refresh: @escaping @Sendable (TokenKeeper) async throws -> StoredToken) -> TokenKeeper {
        let itself = LockedValue<TokenKeeper?>(nil)
        let keeper = TokenKeeper(store, margin: .zero, now: { Date(timeIntervalSince1970: 1000) }) { _ in
            try await refresh(#require(itself.withLockedValue { $0 }))
        }
        itself.withLockedValue { $0 = keeper }
        return keeper
    }

    private static func failure(_ body: () async throws -> Void) async -> CredentialUnavailable? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CredentialUnavailable
        }
    }

    @Test func `while the user signs out the old token is not refreshed`() async throws {
        let keeper = keeper()
        store.wait(in: .delete)
        let signingOut = Task { try await keeper.signOut() }
        await store.waitFor(.delete)
        let socket = Task { try await keeper.token() }
        await store.waitFor(.load)
        await keeper.letOthersRun()
        store.gate.continuation.finish()
        try await signingOut.value
        #expect(await Self.failure { _ = try await socket.value }?.description == "nobody has signed in")
        #expect(refreshed.withLockedValue { $0 } == [])
        #expect(store.memory.load() == nil)
    }

    @Test func `while a user signs in no caller gets the token of another user`() async throws {
        let keeper = keeper()
        store.wait(in: .save("of another"))
        let signingIn = Task { try await keeper.signIn(StoredToken("of another")) }
        await store.waitFor(.save("of another"))
        let socket = Task { try await keeper.token() }
        await store.waitFor(.load)
        await keeper.letOthersRun()
        store.gate.continuation.finish()
        try await signingIn.value
        #expect(try await socket.value.secret == "of another")
        #expect(refreshed.withLockedValue { $0 } == [])
        #expect(store.memory.load()?.secret == "of another")
    }

    @Test func `a delayed save of a token does not overwrite the next user's token`() async throws {
        let keeper = keeper()
        store.isFull.withLockedValue { $0 = true }
        #expect(try await keeper.token().secret == "fresh")
        await store.waitFor(.save("fresh"))
        store.isFull.withLockedValue { $0 = false }
        store.wait(in: .save("fresh"))
        let socket = Task { try await keeper.token() }
        await store.waitFor(.save("fresh"))
        let signingIn = Task { try await keeper.signIn(StoredToken("of another")) }
        await keeper.letOthersRun()
        store.gate.continuation.finish()
        _ = try await socket.value
        try await signingIn.value
        #expect(store.memory.load()?.secret == "of another")
        #expect(try await keeper.token().secret == "of another")
    }

    @Test func `a refresh may sign the user out and another one in`() async throws {
        let signingOut = keeper { keeper in
            try await keeper.signOut()
            throw CredentialUnavailable(isRetryable: false, "over")
        }
        #expect(await Self.failure { _ = try await signingOut.token() }?.description == "over")
        #expect(store.memory.load() == nil)
        #expect(await Self.failure { _ = try await signingOut.token() }?.description == "nobody has signed in")

        store.memory.save(StoredToken("first", expires: Date(timeIntervalSince1970: 0)))
        let changing = keeper { keeper in
            try await keeper.signOut()
            try await keeper.signIn(StoredToken("guest"))
            return StoredToken("of the first")
        }
        await #expect(throws: CancellationError.self) { try await changing.token() }
        #expect(try await changing.token().secret == "guest")
    }

    @Test func `a refresh that asks its own keeper for a token fails with an explanation`() async throws {
        let keeper = keeper { try await $0.token() }
        let failure = await Self.failure { _ = try await keeper.token() }
        #expect(failure?.isRetryable == false)
        #expect(failure?.description.contains("asks its own keeper") == true)
    }

    @Test func `a cancelled refresh of an earlier user signs nobody out`() async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let keeper = keeper { keeper in
            begin.yield()
            // The sleep ends when the refresh is cancelled.
            try? await Task.sleep(for: .seconds(3600))
            try await keeper.signOut()
            return StoredToken("of the first")
        }
        let socket = Task { try await keeper.token() }
        for await _ in begun { break }
        try await keeper.signIn(StoredToken("of another"))
        guard case .failure(let error) = await socket.result, error is CancellationError else {
            Issue.record("the call was not cancelled")
            return
        }
        #expect(store.memory.load()?.secret == "of another")
    }
}
