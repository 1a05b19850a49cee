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
    /// It should throw `CredentialUnavailable` with `isRetryable: false` if the user has to sign in again.
    public typealias Refresh = @Sendable (StoredToken) async throws -> StoredToken

    private let store: any TokenStore
    private let margin: TimeInterval
    private let now: @Sendable () -> Date
    private let refresh: Refresh
    /// What the store could not take.
    private var unsaved: StoredToken?
    private var renewal: Renewal?
    /// The newest refresh, though nobody may wait for it any more: the next one comes after it.
    private var last: Task<StoredToken, any Error>?
    /// How often somebody has signed in or out.
    private var logins: UInt64 = 0

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
    ///     given then is a new one. By default a minute.
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
        let token = try await stored()
        if token.secret != refused, isGood(token) { return token }
        return try await renewed(insteadOf: token.secret)
    }

    /// Keeps the token of a user who has signed in, in the place of any other.
    ///
    /// A refresh that runs is cancelled, and its end awaited; what it gives is not kept.
    public func signIn(_ token: StoredToken) async throws {
        await forget()
        try await store.save(token)
    }

    /// Removes the token; with a refresh that runs as ``signIn(_:)``.
    public func signOut() async throws {
        await forget()
        try await store.delete()
    }

    private func forget() async {
        logins += 1
        unsaved = nil
        renewal?.task.cancel()
        renewal = nil
        // It may be about to save.
        _ = await last?.result
    }

    private func isGood(_ token: StoredToken) -> Bool { token.expires.map { $0.timeIntervalSince(now()) > margin } ?? true }

    private func stored() async throws -> StoredToken {
        if let unsaved {
            try? await keep(unsaved, of: logins)
            return unsaved
        }
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
        let (number, login, before) = (renewals, logins, last)
        // SAFETY: kept in `renewal`; cancelled when nobody waits for it, and when somebody signs in or out.
        let task = Task {
            // A refresh token is good once, as a rule: two refreshes at once would end the session.
            _ = await before?.result
            defer { end(number) }
            try Task.checkCancellation()
            let token = try await stored()
            if token.secret != old, isGood(token) { return token }
            let fresh = try await refresh(token)
            // Also if nobody waits for it any more: the one before may be good no longer.
            try? await keep(fresh, of: login)
            guard login == logins else { throw CancellationError() }
            return fresh
        }
        last = task
        return Renewal(number: number, task: task)
    }

    private func keep(_ token: StoredToken, of login: UInt64) async throws {
        guard login == logins else { return }
        unsaved = token
        try await store.save(token)
        if unsaved == token { unsaved = nil }
    }

    private func end(_ number: UInt64) {
        if renewal?.number == number { renewal = nil }
        if renewals == number { last = nil }
    }

    private func leave(_ number: UInt64) {
        guard renewal?.number == number else { return }
        renewal?.gone += 1
        guard let renewal, renewal.gone >= renewal.waiting else { return }
        renewal.task.cancel()
        self.renewal = nil
    }
}
