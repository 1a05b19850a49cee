import WebSocketRuntime

/// A token in memory: for tests and previews, and for what is to be forgotten when the app ends.
public struct MemoryTokenStore: TokenStore {
    private let token: LockedValue<StoredToken?>

    /// A store that holds a token, or none; copies of it share it.
    public init(_ token: StoredToken? = nil) { self.token = LockedValue(token) }

    /// The token that was saved last; nil if there is none.
    public func load() -> StoredToken? { token.withLockedValue { $0 } }

    /// Puts a token in the place of the one before.
    public func save(_ token: StoredToken) { self.token.withLockedValue { $0 = token } }

    /// Removes the token; harmless if there is none.
    public func delete() { token.withLockedValue { $0 = nil } }
}
