import Foundation
import HoldfastTesting
import WebSocketRuntime
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(1))) struct TokenKeeperTests {
    /// A back end that counts the refreshes, and can be down.
    private final class BackEnd: Sendable {
        let refreshes = LockedValue<[String]>([])
        let isDown = LockedValue(false)

        func next(_ token: StoredToken) throws -> StoredToken {
            let count = refreshes.withLockedValue {
                $0.append(token.refresh ?? "-")
                return $0.count
            }
            if isDown.withLockedValue({ $0 }) { throw CredentialUnavailable(isRetryable: true, "down") }
            return StoredToken("fresh \(count)", refresh: "refresh \(count)", expires: Date(timeIntervalSince1970: 5000))
        }

        var requests: [String] { refreshes.withLockedValue { $0 } }
    }

    /// A store whose disk can be full.
    private struct FullableStore: TokenStore {
        let memory = MemoryTokenStore()
        let isFull = LockedValue(false)

        func load() -> StoredToken? { memory.load() }
        func save(_ token: StoredToken) throws {
            if isFull.withLockedValue({ $0 }) { throw TokenStoreError.file(errno: 28, "full") }
            memory.save(token)
        }
        func delete() { memory.delete() }
    }

    private static func keeper(_ store: some TokenStore, at time: Double = 1000, _ backEnd: BackEnd) -> TokenKeeper {
        TokenKeeper(store, margin: .seconds(60), now: { Date(timeIntervalSince1970: time) }) { try backEnd.next($0) }
    }

    private static func token(until expiry: Double?) -> StoredToken {
        StoredToken("first", refresh: "refresh 0", expires: expiry.map { Date(timeIntervalSince1970: $0) })
    }

    private static func failure(_ body: () async throws -> Void) async -> CredentialUnavailable? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CredentialUnavailable
        }
    }

    @Test func `a valid token is returned unchanged, and one that expires soon is renewed and saved`() async throws {
        for (expiry, isGood) in [(nil, true), (1061, true), (1060, false), (999, false)] as [(Double?, Bool)] {
            let (store, backEnd) = (MemoryTokenStore(Self.token(until: expiry)), BackEnd())
            let keeper = Self.keeper(store, backEnd)
            #expect(try await keeper.token().secret == (isGood ? "first" : "fresh 1"))
            #expect(backEnd.requests == (isGood ? [] : ["refresh 0"]))
            #expect(store.load()?.secret == (isGood ? "first" : "fresh 1"))
        }
    }

    @Test func `a refused token is renewed, and one that was renewed since is returned`() async throws {
        let backEnd = BackEnd()
        let keeper = Self.keeper(MemoryTokenStore(Self.token(until: nil)), backEnd)
        #expect(try await keeper.token(insteadOf: "first").secret == "fresh 1")
        #expect(try await keeper.token(insteadOf: "first").secret == "fresh 1")
        #expect(try await keeper.token(insteadOf: "fresh 1").secret == "fresh 2")
        #expect(backEnd.requests == ["refresh 0", "refresh 1"])
    }

    @Test func `many simultaneous calls refresh the token once`() async throws {
        let backEnd = BackEnd()
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        // The clock does not advance, so calls after the refresh find a valid token.
        let keeper = TokenKeeper(
            MemoryTokenStore(Self.token(until: 0)), margin: .seconds(60), now: { Date(timeIntervalSince1970: 1000) }
        ) { token in
            for await _ in gate {}
            return try backEnd.next(token)
        }
        let secrets = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await keeper.token(insteadOf: "first").secret } }
            group.addTask {
                open.finish()
                return "fresh 1"
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(secrets == ["fresh 1"])
        #expect(backEnd.requests == ["refresh 0"])
    }

    @Test func `without a token or a way to refresh it the user has to sign in`() async throws {
        let keeper = Self.keeper(MemoryTokenStore(), BackEnd())
        #expect(await Self.failure { _ = try await keeper.token() }?.isRetryable == false)
        let old = TokenKeeper(MemoryTokenStore(Self.token(until: 0)))
        #expect(await Self.failure { _ = try await old.token() }?.isRetryable == false)
    }

    @Test func `a temporary error of the store is retryable, and a permanent one is not`() async {
        struct Broken: TokenStore {
            let error: TokenStoreError
            func load() throws -> StoredToken? { throw error }
            func save(_ token: StoredToken) throws { throw error }
            func delete() throws { throw error }
        }
        for error in [TokenStoreError.locked, .damaged("it is not a token"), .exposed("open")] {
            let keeper = Self.keeper(Broken(error: error), BackEnd())
            let failure = await Self.failure { _ = try await keeper.token() }
            #expect(failure?.isRetryable == error.isRetryable)
            #expect(failure?.description == error.description)
        }
    }

    @Test func `a back end that is down changes nothing`() async throws {
        let (store, backEnd) = (MemoryTokenStore(Self.token(until: 0)), BackEnd())
        backEnd.isDown.withLockedValue { $0 = true }
        let keeper = Self.keeper(store, backEnd)
        #expect(await Self.failure { _ = try await keeper.token() }?.isRetryable == true)
        #expect(store.load() == Self.token(until: 0))
        backEnd.isDown.withLockedValue { $0 = false }
        #expect(try await keeper.token().secret == "fresh 2")
    }

    @Test func `a fresh token that cannot be saved is kept and saved later`() async throws {
        let (store, backEnd) = (FullableStore(), BackEnd())
        store.memory.save(Self.token(until: 0))
        let keeper = Self.keeper(store, backEnd)
        store.isFull.withLockedValue { $0 = true }
        #expect(try await keeper.token().secret == "fresh 1")
        #expect(try await keeper.token().secret == "fresh 1")
        #expect(store.load()?.secret == "first")
        store.isFull.withLockedValue { $0 = false }
        #expect(try await keeper.token().secret == "fresh 1")
        #expect(store.load()?.secret == "fresh 1")
        #expect(backEnd.requests == ["refresh 0"])
    }

    @Test func `a refresh is cancelled when no caller waits, and the next one starts again`() async throws {
        let backEnd = BackEnd()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let isFirst = LockedValue(true)
        let keeper = TokenKeeper(MemoryTokenStore(Self.token(until: 0)), margin: .zero, now: { Date(timeIntervalSince1970: 1000) }) {
            token in
            if isFirst.withLockedValue({ isFirst in
                defer { isFirst = false }
                return isFirst
            }) {
                begin.yield()
                try await Task.sleep(for: .seconds(3600))
            }
            return try backEnd.next(token)
        }
        let waiter = Task { try await keeper.token() }
        for await _ in begun { break }
        waiter.cancel()
        guard case .failure(let error) = await waiter.result, error is CancellationError else {
            Issue.record("the call was not cancelled")
            return
        }
        #expect(try await keeper.token().secret == "fresh 1")
    }

    @Test func `a refresh that ends after the user signed out is discarded`() async throws {
        let (store, backEnd) = (FullableStore(), BackEnd())
        store.memory.save(Self.token(until: 0))
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let keeper = TokenKeeper(store, margin: .zero, now: { Date(timeIntervalSince1970: 1000) }) { token in
            begin.yield()
            // The cancellation only ends the sleep; the refresh still returns a token.
            try? await Task.sleep(for: .seconds(3600))
            return try backEnd.next(token)
        }
        let waiter = Task { try await keeper.token() }
        for await _ in begun { break }
        // The keeper would keep in memory what it cannot save.
        store.isFull.withLockedValue { $0 = true }
        try await keeper.signOut()
        guard case .failure(let error) = await waiter.result, error is CancellationError else {
            Issue.record("the call was not cancelled")
            return
        }
        #expect(backEnd.requests == ["refresh 0"])
        #expect(store.load() == nil)
        #expect(await Self.failure { _ = try await keeper.token() }?.isRetryable == false)
        store.isFull.withLockedValue { $0 = false }
        try await keeper.signIn(StoredToken("of another"))
        #expect(try await keeper.token() == StoredToken("of another"))
    }

    @Test func `a token that lives no longer than the margin is valid for most of its life`() async throws {
        let (time, count) = (LockedValue(1000.0), LockedValue(0))
        let keeper = TokenKeeper(
            MemoryTokenStore(Self.token(until: 0)), margin: .seconds(60),
            now: { Date(timeIntervalSince1970: time.withLockedValue { $0 }) }
        ) { _ in
            let number = count.withLockedValue {
                $0 += 1
                return $0
            }
            return StoredToken("fresh \(number)", expires: Date(timeIntervalSince1970: time.withLockedValue { $0 } + 60))
        }
        for (now, secret) in [(1000, "fresh 1"), (1000, "fresh 1"), (1047, "fresh 1"), (1048, "fresh 2"), (1095, "fresh 2")] {
            time.withLockedValue { $0 = Double(now) }
            #expect(try await keeper.token().secret == secret)
        }
    }
}
