/// Where a token outlives the app: the keychain, a file, or memory for tests.
///
/// | Store | Where | For |
/// |---|---|---|
/// | `KeychainTokenStore` | the system's keychain | apps on Apple platforms |
/// | ``FileTokenStore`` | a file that only its owner may read | tools and services on Linux |
/// | ``MemoryTokenStore`` | memory, until it is released | tests, previews |
///
/// A store holds one token. Its methods may be called from any task, also at once. ``TokenKeeper`` gives a socket the token of a store.
public protocol TokenStore: Sendable {
    /// The token that was saved last; nil if there is none.
    ///
    /// The stores of this package throw ``TokenStoreError``.
    func load() async throws -> StoredToken?
    /// Puts a token in the place of the one before: afterwards one or the other is there, whole, whatever fails.
    func save(_ token: StoredToken) async throws
    /// Removes the token; harmless if there is none.
    func delete() async throws
}
