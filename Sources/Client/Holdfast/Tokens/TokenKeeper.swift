import Foundation

/// Gives the stored token while that is good, and a fresh one when it is not: the answer to "where do I keep the token?".
///
/// ```swift
/// let keeper = TokenKeeper(store) { old in try await backEnd.token(for: old.refresh) }
/// let socket = WebSocket("wss://example.com/feed") { $0.credentials = .bearer(keeper) }
/// ```
///
/// One keeper may serve any number of sockets. However many ask, one refresh runs at a time, and it is cancelled when nobody waits for it
/// any more. A fresh token is saved before anybody gets it; if it cannot be saved, it is kept in memory, and saved with the next call.
public actor TokenKeeper {
    /// Gets the next token of the app's back end, with the one before.
    ///
    /// It should throw `CredentialUnavailable` with `isRetryable: false` if the user has to sign in again, and may sign the user out
    /// before. It must not ask its own keeper for a token: that would wait for itself, and is refused.
    public typealias Refresh = @Sendable (StoredToken) async throws -> StoredToken

    private let store: any TokenStore
    private let margin: TimeInterval
    private let now: @Sendable () -> Date
    private let refresh: Refresh
    /// What the store could not take.
    private var unsaved: StoredToken?
    private var renewal: Renewal?
    /// Waits for the newest of what changes the store, though nobody else may wait for it any more: the next one comes after it.
    private var last: @Sendable () async -> Void = {}
    /// How often somebody has signed in or out.
    private var logins: UInt64 = 0
    /// The token that was fetched last, and how long before its expiry it counts as over.
    private var newest: (secret: String, margin: TimeInterval)?
    /// The refresh whose back end is asked now, and whose token it is.
    private var asking: (number: UInt64, login: UInt64)?
    /// The refreshes within which a task runs, by keeper: it cannot wait for their end.
    @TaskLocal private static var refreshing: [ObjectIdentifier: UInt64] = [:]

    private struct Renewal {
        let number: UInt64
        let task: Task<StoredToken, any Error>
        var waiting = 0
        var gone = 0
    }
    private var renewals: UInt64 = 0

    /// A keeper of what is in a store.
    ///
    /// - Parameters:
    ///   - store: Where the token outlives the app.
    ///   - margin: How long before its expiry a token counts as over: more than `CredentialPolicy.refreshAhead`, so that what a socket is
    ///     given then is a new one. By default a minute; for a token that was just fetched, at most a fifth of its life.
    ///   - refresh: Gets the next token; by default there is no way, and the user has to sign in.
    public init(
        _ store: some TokenStore, margin: Duration = .seconds(60),
        refresh: @escaping Refresh = { _ in throw CredentialUnavailable(isRetryable: false, "the token is over: sign in again") }
    ) {
        self.init(store, margin: margin, now: { Date() }, refresh: refresh)
    }

    init(_ store: some TokenStore, margin: Duration, now: @escaping @Sendable () -> Date, refresh: @escaping Refresh) {
        let (seconds, attoseconds) = margin.components
        (self.store, self.margin) = (store, TimeInterval(seconds) + TimeInterval(attoseconds) * 1e-18)
        (self.now, self.refresh) = (now, refresh)
    }

    /// A token that is good, for which a fresh one is fetched if need be.
    ///
    /// - Parameter refused: A secret that the server did not take: another one is given.
    /// - Throws: `CredentialUnavailable` if nobody has signed in, or the store cannot be read; what the refresh throws.
    public func token(insteadOf refused: String? = nil) async throws -> StoredToken {
        guard asker == nil else {
            throw CredentialUnavailable(isRetryable: false, "a refresh asks its own keeper for a token, and would wait for itself")
        }
        // A refresh that runs has tried it.
        if unsaved != nil, renewal == nil { _ = await inTurn { await $0.saveUnsaved() }.result }
        let token = try await stored()
        if token.secret != refused, isGood(token) { return token }
        return try await renewed(insteadOf: token.secret)
    }

    /// Keeps the token of a user who has signed in, in the place of any other.
    ///
    /// A refresh that runs is cancelled, and its end awaited; what it gives is not kept. Within the refresh itself this waits for nothing,
    /// and throws `CancellationError` if somebody else has signed in or out meanwhile.
    public func signIn(_ token: StoredToken) async throws { try await change { try await $0.store.save(token) } }

    /// Removes the token; with a refresh that runs, and within one, as ``signIn(_:)``.
    public func signOut() async throws { try await change { try await $0.store.delete() } }

    private func change(_ body: @escaping @Sendable (isolated TokenKeeper) async throws -> Void) async throws {
        let own = asker
        // It speaks for a user who has left.
        if let own, own.login != logins { throw CancellationError() }
        logins += 1
        unsaved = nil
        if own != nil { asking?.login = logins }
        if own == nil || renewal?.number != own?.number { renewal?.task.cancel() }
        renewal = nil
        // A refresh that begins meanwhile comes after it, and finds what it leaves.
        try await inTurn(isOwn: own != nil, body).value
    }

    /// The refresh within which this is called.
    private var asker: (number: UInt64, login: UInt64)? {
        asking.flatMap { Self.refreshing[ObjectIdentifier(self)] == $0.number ? $0 : nil }
    }

    /// Does what changes the store when all that came before is done: two at once might leave the token of either.
    ///
    /// - Parameter isOwn: It is part of the refresh that runs, whose turn it is.
    private func inTurn<Value: Sendable>(
        isOwn: Bool = false, _ body: @escaping @Sendable (isolated TokenKeeper) async throws -> Value
    ) -> Task<Value, any Error> {
        let before = last
        // SAFETY: the caller waits for it or keeps it; to sign in or out is done to its end.
        let task = Task {
            if !isOwn { await before() }
            return try await body(self)
        }
        last = {
            _ = await task.result
            if isOwn { await before() }
        }
        return task
    }

    private func isGood(_ token: StoredToken) -> Bool {
        let margin = token.secret == newest?.secret ? newest?.margin ?? margin : margin
        return token.expires.map { $0.timeIntervalSince(now()) > margin } ?? true
    }

    private func stored() async throws -> StoredToken {
        if let unsaved { return unsaved }
        do {
            if let token = try await store.load() { return token }
        } catch let error as TokenStoreError {
            throw CredentialUnavailable(isRetryable: error.isRetryable, error.description)
        }
        throw CredentialUnavailable(isRetryable: false, "nobody has signed in")
    }

    /// The result of the refresh that runs; of a new one, if none does.
    private func renewed(insteadOf old: String) async throws -> StoredToken {
        let running = renewal ?? begin(insteadOf: old)
        let number = running.number
        renewal = running
        renewal?.waiting += 1
        return try await withTaskCancellationHandler {
            try await running.task.value
        } onCancel: {
            // SAFETY: runs once and at once.
            Task { await self.leave(number) }
        }
    }

    private func begin(insteadOf old: String) -> Renewal {
        renewals += 1
        let (number, login) = (renewals, logins)
        // Cancelled when nobody waits for it, and when somebody signs in or out.
        let task = inTurn { try await $0.renew(number, insteadOf: old, of: login) }
        return Renewal(number: number, task: task)
    }

    /// A refresh, in its turn: a refresh token is good once, as a rule, so that two at once would end the session.
    private func renew(_ number: UInt64, insteadOf old: String, of login: UInt64) async throws -> StoredToken {
        defer { end(number) }
        try Task.checkCancellation()
        await saveUnsaved()
        let token = try await stored()
        if token.secret != old, isGood(token) { return token }
        try Task.checkCancellation()
        let fresh = try await ask(with: token, number, of: login)
        guard login == logins else { throw CancellationError() }
        // A short life must not be over at once, or everybody who asks would fetch another token.
        newest = fresh.expires.map { (fresh.secret, min(margin, $0.timeIntervalSince(now()) / 5)) }
        // Also if nobody waits for it any more: the one before may be good no longer.
        unsaved = fresh
        await saveUnsaved()
        guard login == logins else { throw CancellationError() }
        return fresh
    }

    private func ask(with token: StoredToken, _ number: UInt64, of login: UInt64) async throws -> StoredToken {
        asking = (number, login)
        defer { asking = nil }
        let within = Self.refreshing.merging([ObjectIdentifier(self): number]) { $1 }
        return try await Self.$refreshing.withValue(within) { try await refresh(token) }
    }

    /// Tries it once, in turn.
    private func saveUnsaved() async {
        guard let token = unsaved, (try? await store.save(token)) != nil, unsaved == token else { return }
        unsaved = nil
    }

    private func end(_ number: UInt64) {
        if renewal?.number == number { renewal = nil }
    }

    private func leave(_ number: UInt64) {
        guard renewal?.number == number else { return }
        renewal?.gone += 1
        guard let renewal, renewal.gone >= renewal.waiting else { return }
        renewal.task.cancel()
        self.renewal = nil
    }
}

extension CredentialProvider {
    /// Bearer tokens of a keeper: the stored one while it is good, and a fresh one when it is over, or the server did not take it.
    public static func bearer(_ keeper: TokenKeeper) -> CredentialProvider {
        .bearer(answering: { request in
            let token = try await keeper.token(insteadOf: request.refused?.secret)
            return Credential(token.secret, expiresIn: token.expires.map { .seconds($0.timeIntervalSinceNow) })
        })
    }
}
