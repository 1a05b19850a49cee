public import Foundation
import WebSocketRuntime

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

/// A token, how to get the next one, and until when it is good.
///
/// It describes itself without its secrets, also in a dump.
public struct StoredToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// How many bytes a stored token may have, its refresh token included.
    public static let limit = 65_536

    /// What opens connections.
    public let secret: String
    /// What the app's back end takes for the next token; nil: there is none.
    public let refresh: String?
    /// When the secret is no longer good, by the calendar; nil: it does not expire, or nobody knows.
    public let expires: Date?

    /// A token.
    public init(_ secret: String, refresh: String? = nil, expires: Date? = nil) {
        (self.secret, self.refresh, self.expires) = (secret, refresh, expires)
    }

    /// That there is one, and no more.
    public var description: String { "a token" }

    /// Nothing to be seen.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How a token lies in a file and in the keychain: JSON, with the version of the form.
struct TokenRecord: Codable {
    static let version = 1

    let version: Int
    let secret: String
    let refresh: String?
    /// Milliseconds since 1970 UTC.
    let expires: Int64?

    /// The bytes of a token.
    static func encode(_ token: StoredToken) throws(TokenStoreError) -> Data {
        let expires = token.expires.map { Int64(clamping: Int(exactly: ($0.timeIntervalSince1970 * 1000).rounded()) ?? .max) }
        let record = TokenRecord(version: version, secret: token.secret, refresh: token.refresh, expires: expires)
        guard let bytes = try? JSONEncoder().encode(record), bytes.count <= StoredToken.limit else { throw .tooLong }
        return bytes
    }

    /// The token in these bytes; what is wrong with them is told without them.
    static func decode(_ bytes: Data) throws(TokenStoreError) -> StoredToken {
        guard bytes.count <= StoredToken.limit else { throw .damaged("it is too long") }
        guard let record = try? JSONDecoder().decode(TokenRecord.self, from: bytes) else { throw .damaged("it is no token") }
        guard record.version == version else { throw .damaged("its form has version \(record.version), which is not known here") }
        let expires = record.expires.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        return StoredToken(record.secret, refresh: record.refresh, expires: expires)
    }
}

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

/// Why a token could not be loaded, saved or deleted; never holds a token.
public enum TokenStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is stored is no token: sign in again, and save the new one over it.
    case damaged(String)
    /// The device has not been unlocked since it started, so that its keychain is shut (`errSecInteractionNotAllowed`); passes.
    case locked
    /// The file is not the user's own, or others may read it, so it is not used; how that is.
    case exposed(String)
    /// The token has more than ``StoredToken/limit`` bytes, and was not saved.
    case tooLong
    /// The keychain said no, with this `OSStatus`.
    case keychain(status: Int32)
    /// The file system said no, with this `errno`, when this was tried.
    case file(errno: Int32, String)

    /// Whether the same may succeed later with nobody doing anything about it.
    public var isRetryable: Bool {
        switch self {
        case .locked, .file: true
        case .damaged, .exposed, .tooLong, .keychain: false
        }
    }

    /// A sentence for whoever looks for the cause.
    public var description: String {
        switch self {
        case .damaged(let how): "the stored token is damaged: \(how)"
        case .locked: "the keychain is shut until the device is unlocked for the first time"
        case .exposed(let how): "the stored token is not used: \(how)"
        case .tooLong: "a token has at most \(StoredToken.limit) bytes"
        case .keychain(let status): "the keychain refused with status \(status)\(KeychainStatus.hint(on: status))"
        case .file(let number, let what): "\(what): error \(number) of the system"
        }
    }
}
