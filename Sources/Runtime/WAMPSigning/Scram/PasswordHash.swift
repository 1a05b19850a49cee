import CodecCore

/// How a password is hashed.
public enum PasswordHash: Hashable, Sendable {
    /// PBKDF2 with HMAC-SHA256, and 32 bytes as its result.
    case pbkdf2(iterations: Int)
    /// Argon2id; memory in KiB.
    case argon2id(iterations: Int, memory: Int)
}

extension PasswordHash {
    var iterations: Int {
        switch self {
        case .pbkdf2(let iterations), .argon2id(let iterations, _): iterations
        }
    }

    /// The hash that a challenge asks for.
    init(_ extra: ValueMap, dialect: ScramDialect) throws(SigningError) {
        guard let name = extra["kdf"]?.string else { throw .field("kdf") }
        guard let iterations = extra["iterations"]?.int else { throw .field("iterations") }
        switch name {
        case "pbkdf2": self = .pbkdf2(iterations: iterations)
        // Either spelling: what it means depends on the method.
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

    /// The salted password.
    func salted(_ password: String, salt: [UInt8], dialect: ScramDialect, argon2: Argon2id?) throws(SigningError) -> [UInt8] {
        let password = Array(password.utf8)
        switch self {
        case .pbkdf2(let iterations):
            do {
                return try PBKDF2.key(password: password, salt: salt, iterations: iterations, length: 32)
            } catch {
                throw .cancelled
            }
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
