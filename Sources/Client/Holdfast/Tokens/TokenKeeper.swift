import Foundation

/// Returns the stored token while it is valid, and gets a fresh one when it is not.
///
/// ```swift
/// let keeper = TokenKeeper(store) { old in try await backEnd.token(for: old.refresh) }
/// let socket = WebSocket("wss://example.com/feed") { $0.credentials = .bearer(keeper) }
/// ```
///
/// One keeper may serve any number of sockets. Only one refresh runs at a time, even if many callers ask, and it is cancelled when no caller
/// waits for it any more. A fresh token is saved before it is returned. If it cannot be saved, it is kept in memory, and saved with the next
/// call.
public actor TokenKeeper {
    /// Gets the next token from the app's back end, given the previous one.
    ///
    /// It should throw `CredentialUnavailable` with `isRetryable: false` if the user has to sign in again; it may sign the user out
    /// first. It must not ask its own keeper for a token: that would be a deadlock, so the keeper throws an error.
    public typealias Refresh = @Sendable (StoredToken) async throws -> StoredToken

    private let store: any TokenStore
    private let margin: TimeInterval
    private let now: @Sendable () -> Date
    private let refresh: Refresh
    /// The token that the store could not save.
    private var unsaved: StoredToken?
    private var renewal: Renewal?
    /// Waits for the last change of the store, even if its caller no longer waits; the next change starts after it.
    private var last: @Sendable () async -> Void = {}
    /// The number of sign-ins and sign-outs.
    private var logins: UInt64 = 0
    /// The token that was fetched last, and how long before its expiry it counts as expired.
    private var newest: (secret: String, margin: TimeInterval)?
    /// The refresh that waits for the back end now, and the login whose token it is.
    private var asking: (number: UInt64, login: UInt64)?
    /// The refreshes within which a task runs, by keeper; the task must not wait for their end.
    @TaskLocal private static var refreshing: [ObjectIdentifier: UInt64] = [:]

    private struct Renewal {
        let number: UInt64
        let task: Task<StoredToken, any Error>
        var waiting = 0
        var gone = 0
    }
    private var renewals: UInt64 = 0

    /// Creates a keeper for the token in a store.
    ///
    /// - Parameters:
    ///   - store: Keeps the token while the app does not run.
    ///   - margin: How long before its expiry a token counts as expired. It should be more than `CredentialPolicy.refreshAhead`, so that
    ///     the socket then gets a new one. By default a minute; for a token that was just fetched, at most a fifth of its lifetime.
    ///   - refresh: Gets the next token; the default throws an error, so the user has to sign in.
    public init(
        _ store: some TokenStore, margin: Duration = .seconds(60),
        refresh: @escaping Refresh = { _ in throw CredentialUnavailable(isRetryable: false, "the token has expired: sign in again") }
    ) {
        self.init(store, margin: margin, now: { Date() }, refresh: refresh)
    }

    init(_ store: some TokenStore, margin: Duration, now: @escaping @Sendable () -> Date, refresh: @escaping Refresh) {
        let (seconds, attoseconds) = margin.components
        (self.store, self.margin) = (store, TimeInterval(seconds) + TimeInterval(attoseconds) * 1e-18)
        (self.now, self.refresh) = (now, refresh)
    }

    /// Returns a valid token, and fetches a fresh one if necessary.
    ///
    /// - Parameter refused: A secret that the server rejected; the keeper returns another one.
    /// - Throws: `CredentialUnavailable` if nobody has signed in, or the store cannot be read; the error of the refresh.
    public func token(insteadOf refused: String? = nil) async throws -> StoredToken {
        guard asker == nil else {
            throw CredentialUnavailable(isRetryable: false, "a refresh asks its own keeper for a token, which would be a deadlock")
        }
        // A running refresh has already tried this.
        if unsaved != nil, renewal == nil { _ = await inTurn { await $0.saveUnsaved() }.result }
        let token = try await stored()
        if token.secret != refused, isGood(token) { return token }
        return try await renewed(insteadOf: token.secret)
    }

    /// Stores the token of a user who has signed in, in place of any other.
    ///
    /// This cancels a running refresh, waits for its end, and discards its result. Within the refresh itself it does not wait,
    /// and throws `CancellationError` if another call has signed in or out meanwhile.
    public func signIn(_ token: StoredToken) async throws { try await change { try await $0.store.save(token) } }

    /// Removes the token; treats a running refresh as ``signIn(_:)`` does.
    public func signOut() async throws { try await change { try await $0.store.delete() } }

    private func change(_ body: @escaping @Sendable (isolated TokenKeeper) async throws -> Void) async throws {
        let own = asker
        // The refresh acts for a user who has left.
        if let own, own.login != logins { throw CancellationError() }
        logins += 1
        unsaved = nil
        if own != nil { asking?.login = logins }
        if own == nil || renewal?.number != own?.number { renewal?.task.cancel() }
        renewal = nil
        // A refresh that begins meanwhile runs after this change, and sees its result.
        try await inTurn(isOwn: own != nil, body).value
    }

    /// The refresh within which this is called, if any.
    private var asker: (number: UInt64, login: UInt64)? {
        asking.flatMap { Self.refreshing[ObjectIdentifier(self)] == $0.number ? $0 : nil }
    }

    /// Changes the store after all earlier changes; two concurrent changes could leave the token of either.
    ///
    /// - Parameter isOwn: Whether the change is part of the running refresh, which has its turn already.
    private func inTurn<Value: Sendable>(
        isOwn: Bool = false, _ body: @escaping @Sendable (isolated TokenKeeper) async throws -> Value
    ) -> Task<Value, any Error> {
        let before = last
        // SAFETY: the caller waits for it or keeps it; a sign-in or sign-out runs to its end.
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

    /// Returns the result of the running refresh, or of a new one.
    private func renewed(insteadOf old: String) async throws -> StoredToken {
        let running = renewal ?? begin(insteadOf: old)
        let number = running.number
        renewal = running
        renewal?.waiting += 1
        return try await withTaskCancellationHandler {
            try await running.task.value
        } onCancel: {
            // SAFETY: one short step.
            Task { await self.leave(number) }
        }
    }

    private func begin(insteadOf old: String) -> Renewal {
        renewals += 1
        let (number, login) = (renewals, logins)
        // Cancelled when no caller waits for it, and by a sign-in or sign-out.
        let task = inTurn { try await $0.renew(number, insteadOf: old, of: login) }
        return Renewal(number: number, task: task)
    }

    /// Runs a refresh in its turn; two at once could end the login, because a refresh token is usually valid only once.
    private func renew(_ number: UInt64, insteadOf old: String, of login: UInt64) async throws -> StoredToken {
        defer { end(number) }
        try Task.checkCancellation()
        await saveUnsaved()
        let token = try await stored()
        if token.secret != old, isGood(token) { return token }
        try Task.checkCancellation()
        let fresh = try await ask(with: token, number, of: login)
        guard login == logins else { throw CancellationError() }
        // A token with a short lifetime must not count as expired at once, or every call would fetch another one.
        newest = fresh.expires.map { (fresh.secret, min(margin, $0.timeIntervalSince(now()) / 5)) }
        // Saved even if no caller waits any more, because the previous token may be invalid now.
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

    /// Tries once to save the unsaved token.
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
    /// Returns a provider of a keeper's bearer tokens: the stored token, or a fresh one after expiry or a rejection by the server.
    public static func bearer(_ keeper: TokenKeeper) -> CredentialProvider {
        .bearer(answering: { request in
            let token = try await keeper.token(insteadOf: request.refused?.secret)
            return Credential(token.secret, expiresIn: token.expires.map { .seconds($0.timeIntervalSinceNow) })
        })
    }
}
