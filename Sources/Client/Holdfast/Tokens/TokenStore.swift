public import Foundation
import WebSocketRuntime

/// Storage for a token that outlives the app: the keychain or a file, or memory for tests.
///
/// | Store | Where | For |
/// |---|---|---|
/// | `KeychainTokenStore` | the system's keychain | apps on Apple platforms |
/// | ``FileTokenStore`` | a file that only its owner may read | tools and services on Linux |
/// | ``MemoryTokenStore`` | memory, until it is released | tests, previews |
///
/// A store holds one token. Any task may call its methods, also concurrently. ``TokenKeeper`` gives a socket the token of a store.
public protocol TokenStore: Sendable {
    /// Returns the token that was saved last; nil if there is none.
    ///
    /// The stores of this package throw ``TokenStoreError``.
    func load() async throws -> StoredToken?
    /// Replaces the stored token; after a failure the store contains either the whole old token or the whole new one.
    func save(_ token: StoredToken) async throws
    /// Removes the token; harmless if there is none.
    func delete() async throws
}

/// A token, its refresh token, and its expiry.
///
/// Its description and its dump do not contain the secrets.
public struct StoredToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The maximum size of a stored token in bytes, including its refresh token.
    public static let limit = 65_536

    /// The secret that authenticates connections.
    public let secret: String
    /// The refresh token that the app's back end takes for the next token; nil if there is none.
    public let refresh: String?
    /// The expiry date of the secret; nil if it does not expire or the date is unknown.
    public let expires: Date?

    /// Creates a token.
    public init(_ secret: String, refresh: String? = nil, expires: Date? = nil) {
        (self.secret, self.refresh, self.expires) = (secret, refresh, expires)
    }

    /// A fixed text without the secrets.
    public var description: String { "a token" }

    /// An empty mirror that hides the secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The stored form of a token in a file or the keychain: JSON with a version number.
struct TokenRecord: Codable {
    static let version = 1

    let version: Int
    let secret: String
    let refresh: String?
    /// Milliseconds since 1970 UTC.
    let expires: Int64?

    /// Returns the bytes of a token.
    static func encode(_ token: StoredToken) throws(TokenStoreError) -> Data {
        let expires = token.expires.map { Int64(clamping: Int(exactly: ($0.timeIntervalSince1970 * 1000).rounded()) ?? .max) }
        let record = TokenRecord(version: version, secret: token.secret, refresh: token.refresh, expires: expires)
        guard let bytes = try? JSONEncoder().encode(record), bytes.count <= StoredToken.limit else { throw .tooLong }
        return bytes
    }

    /// Returns the token in these bytes; the error does not contain the bytes.
    static func decode(_ bytes: Data) throws(TokenStoreError) -> StoredToken {
        guard bytes.count <= StoredToken.limit else { throw .damaged("it is too long") }
        guard let record = try? JSONDecoder().decode(TokenRecord.self, from: bytes) else { throw .damaged("it is not a token") }
        guard record.version == version else { throw .damaged("its format has the unknown version \(record.version)") }
        let expires = record.expires.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        return StoredToken(record.secret, refresh: record.refresh, expires: expires)
    }
}

/// Stores a token in memory, for tests and previews, and for tokens that should not outlive the app.
public struct MemoryTokenStore: TokenStore {
    private let token: LockedValue<StoredToken?>

    /// Creates a store with a token, or empty; copies of the store share it.
    public init(_ token: StoredToken? = nil) { self.token = LockedValue(token) }

    /// Returns the token that was saved last; nil if there is none.
    public func load() -> StoredToken? { token.withLockedValue { $0 } }

    /// Replaces the stored token.
    public func save(_ token: StoredToken) { self.token.withLockedValue { $0 = token } }

    /// Removes the token; harmless if there is none.
    public func delete() { token.withLockedValue { $0 = nil } }
}

/// The error of a token store; never contains a token.
public enum TokenStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The stored data is not a token: sign in again, and save the new token over it.
    case damaged(String)
    /// The device was not unlocked since it started, so its keychain is locked (`errSecInteractionNotAllowed`); temporary.
    case locked
    /// The file is not used, because it belongs to another user or others may read it; the text gives the reason.
    case exposed(String)
    /// The token is larger than ``StoredToken/limit`` bytes, and was not saved.
    case tooLong
    /// The keychain returned this `OSStatus`.
    case keychain(status: Int32)
    /// The file system returned this `errno`; the text names the failed operation.
    case file(errno: Int32, String)

    /// Whether the same call may succeed later without any action.
    public var isRetryable: Bool {
        switch self {
        case .locked, .file: true
        case .damaged, .exposed, .tooLong, .keychain: false
        }
    }

    /// A sentence that describes the cause.
    public var description: String {
        switch self {
        case .damaged(let how): "the stored token is damaged: \(how)"
        case .locked: "the keychain is locked until the device is unlocked for the first time"
        case .exposed(let how): "the stored token is not used: \(how)"
        case .tooLong: "a token has at most \(StoredToken.limit) bytes"
        case .keychain(let status): "the keychain refused with status \(status)\(KeychainStatus.hint(on: status))"
        case .file(let number, let what): "\(what): system error \(number)"
        }
    }
}
