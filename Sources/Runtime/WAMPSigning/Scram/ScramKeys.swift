import CodecCore
import MachineCore

/// The dialect of SCRAM: Crossbar and Autobahn differ from the specification.
public enum ScramDialect: String, Hashable, Sendable, CaseIterable {
    /// The dialect of Crossbar and Autobahn.
    case crossbar = "scram"
    /// The dialect of the specification.
    case standard = "wamp-scram"

    /// The value for missing channel binding: empty, or Base64 of `n,,`.
    var binding: String { self == .crossbar ? "" : "biws" }

    /// The name of Argon2id.
    var argon2: String { self == .crossbar ? "argon2id-13" : "argon2id13" }

    /// Returns a user's name as it appears in the signed text.
    func escaped(_ name: String) -> String {
        guard self == .standard else { return name }
        return name.reduce(into: "") { $0 += $1 == "," ? "=2C" : $1 == "=" ? "=3D" : String($1) }
    }

    /// Returns the salted password from the output of Argon2id.
    func salted(_ hash: [UInt8]) -> [UInt8] {
        guard self == .crossbar else { return hash }
        var text = Array(Base64.text(hash).utf8)
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return text
    }
}

/// The function that hashes a password.
public enum PasswordHash: Hashable, Sendable {
    /// PBKDF2 with HMAC-SHA256, and a result of 32 bytes.
    case pbkdf2(iterations: Int)
    /// Argon2id; the memory is in KiB.
    case argon2id(iterations: Int, memory: Int)
}

extension PasswordHash {
    var iterations: Int {
        switch self {
        case .pbkdf2(let iterations), .argon2id(let iterations, _): iterations
        }
    }

    /// Reads the function that a challenge asks for.
    init(_ extra: ValueMap, dialect: ScramDialect) throws(SigningError) {
        guard let name = extra["kdf"]?.string else { throw .field("kdf") }
        guard let iterations = extra["iterations"]?.int else { throw .field("iterations") }
        switch name {
        case "pbkdf2": self = .pbkdf2(iterations: iterations)
        // Both spellings are accepted: the meaning depends on the method.
        case ScramDialect.crossbar.argon2, ScramDialect.standard.argon2:
            guard let memory = extra["memory"]?.int else { throw .field("memory") }
            self = .argon2id(iterations: iterations, memory: memory)
        default: throw .noSuchFunction(name)
        }
    }

    func check(_ costs: PasswordCosts) throws(SigningError) {
        switch self {
        case .pbkdf2(let iterations):
            guard costs.iterations.contains(iterations) else { throw .cost("iterations", iterations) }
        case .argon2id(let iterations, let memory):
            guard costs.passes.contains(iterations) else { throw .cost("iterations", iterations) }
            guard costs.memory.contains(memory) else { throw .cost("memory", memory) }
        }
    }

    /// Returns the salted password.
    func salted(_ password: String, salt: [UInt8], dialect: ScramDialect, argon2: Argon2id?) throws(SigningError) -> [UInt8] {
        let password = Array(password.utf8)
        switch self {
        case .pbkdf2(let iterations): return try PBKDF2.key(password: password, salt: salt, iterations: iterations, length: 32)
        case .argon2id(let iterations, let memory):
            guard let argon2 else { throw .noSuchFunction(dialect.argon2) }
            do {
                return dialect.salted(try argon2.hash(password, salt, iterations, memory))
            } catch {
                throw .argon2("\(error)")
            }
        }
    }
}

/// The stored keys of a user's password: enough to verify it, but not enough to authenticate with.
public struct ScramKeys: Hashable, Sendable {
    package let dialect: ScramDialect
    let hash: PasswordHash
    package let salt: [UInt8]
    let storedKey: [UInt8]
    let serverKey: [UInt8]

    /// Creates the keys from stored values.
    ///
    /// - Parameters:
    ///   - dialect: The dialect of the user's client; with Argon2id, the keys of the two dialects differ.
    ///   - hash: The function that hashed the password.
    ///   - salt: The salt.
    ///   - storedKey: The hash of the client's key, 32 bytes.
    ///   - serverKey: The server's key, 32 bytes.
    public init(dialect: ScramDialect, hash: PasswordHash, salt: [UInt8], storedKey: [UInt8], serverKey: [UInt8]) {
        (self.dialect, self.hash, self.salt, self.storedKey, self.serverKey) = (dialect, hash, salt, storedKey, serverKey)
    }

    /// Creates the keys of a password; Argon2id needs an implementation.
    ///
    /// - Throws: A ``SigningError``.
    public init(
        password: String, dialect: ScramDialect, hash: PasswordHash, salt: [UInt8]? = nil, argon2: Argon2id? = nil
    ) throws(SigningError) {
        let salt = salt ?? Nonce.bytes(16)
        let salted = try hash.salted(password, salt: salt, dialect: dialect, argon2: argon2)
        self.init(
            dialect: dialect, hash: hash, salt: salt,
            storedKey: KeyedHash.sha256(KeyedHash.hmac(Array("Client Key".utf8), key: salted)),
            serverKey: KeyedHash.hmac(Array("Server Key".utf8), key: salted))
    }
}

extension ScramKeys: CustomStringConvertible, CustomReflectable {
    /// A text without the keys.
    public var description: String { "SCRAM keys" }
    /// Empty, so that neither `dump` nor a crash report contains keys.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
