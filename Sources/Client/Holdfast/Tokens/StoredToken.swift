public import Foundation

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
