import Foundation
import JWTKit
import Logging

/// A key for verifying tokens, with exactly one algorithm.
///
/// A key knows its algorithm, so key confusion is impossible: the header of a token only selects among the keys.
public struct TokenKey: Sendable {
    /// The accepted algorithms.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// HMAC with SHA-256, and a secret that both sides know.
        case hs256 = "HS256"
        /// RSA with SHA-256, at least 2048 bits.
        case rs256 = "RS256"
        /// ECDSA on P-256.
        case es256 = "ES256"
        /// Ed25519.
        case edDSA = "EdDSA"
    }
    /// The name of the key; a token that names a key is verified only with that key.
    public let id: String?
    /// The algorithm of the key.
    public let algorithm: Algorithm
    let signer: any JWTAlgorithm

    private init(_ id: String?, _ algorithm: Algorithm, _ add: (JWTKeyCollection) async throws -> Void) async throws {
        let collection = JWTKeyCollection()
        try await add(collection)
        (self.id, self.algorithm, signer) = (id, algorithm, try await collection.getKey())
    }

    /// Creates a key from a secret of at least 32 bytes.
    public static func secret(_ secret: [UInt8], id: String? = nil) async throws(HubError) -> TokenKey {
        guard secret.count >= 32 else { throw HubError.key("a secret must have at least 32 bytes; this one has \(secret.count)") }
        return try await make(id, .hs256) { await $0.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256) }
    }

    /// Creates a key from a public key in PEM: RSA, P-256 or Ed25519.
    public static func pem(_ text: String, id: String? = nil) async throws(HubError) -> TokenKey {
        if text.contains("PRIVATE KEY") { throw HubError.key("this is a private key; a hub needs only the public key") }
        if let key = try? Insecure.RSA.PublicKey(pem: text) {
            return try await make(id, .rs256) { await $0.add(rsa: key, digestAlgorithm: .sha256) }
        }
        if let key = try? ES256PublicKey(pem: text) { return try await make(id, .es256) { await $0.add(ecdsa: key) } }
        if let key = try? EdDSA.PublicKey(pem: text) { return try await make(id, .edDSA) { await $0.add(eddsa: key) } }
        throw HubError.key("not a public key in PEM of RSA (2048 bits or more), P-256 or Ed25519")
    }

    /// Returns the signature keys of a JSON Web Key Set for the accepted algorithms; skips other keys.
    public static func set(_ json: [UInt8]) async throws(HubError) -> [TokenKey] {
        let records: [Record]
        do {
            records = try JSONDecoder().decode(RecordSet.self, from: Data(json)).keys
        } catch {
            throw HubError.key("not a JSON Web Key Set: \(error)")
        }
        var keys: [TokenKey] = []
        for record in records where record.use ?? "sig" == "sig" {
            if let key = try await record.key() { keys.append(key) }
        }
        if keys.isEmpty { throw HubError.key("the key set holds no key for HS256, RS256, ES256 or EdDSA") }
        return keys
    }

    fileprivate static func make(
        _ id: String?, _ algorithm: Algorithm, _ add: (JWTKeyCollection) async throws -> Void
    ) async throws(HubError) -> TokenKey {
        do { return try await TokenKey(id, algorithm, add) } catch { throw HubError.key("\(error)") }
    }

    private struct RecordSet: Decodable { let keys: [Record] }

    /// A key of a set (RFC 7517, RFC 7518 §6).
    ///
    /// JWTKit has its own type for keys, but it rejects the whole set if one key is of an unknown kind, and it does not support `oct`.
    private struct Record: Decodable {
        let kty: String
        let use: String?
        let kid: String?
        let alg: String?
        let crv: String?
        let n: String?
        let e: String?
        let x: String?
        let y: String?
        let k: String?

        /// Returns the key; nil if it is for another purpose.
        func key() async throws(HubError) -> TokenKey? {
            switch (kty, crv) {
            case ("RSA", _) where alg ?? "RS256" == "RS256":
                guard let n, let e else { throw HubError.key("an RSA key lacks n or e") }
                return try await TokenKey.make(kid, .rs256) {
                    await $0.add(rsa: try Insecure.RSA.PublicKey(modulus: n, exponent: e), digestAlgorithm: .sha256)
                }
            case ("EC", "P-256") where alg ?? "ES256" == "ES256":
                guard let x, let y else { throw HubError.key("a P-256 key lacks x or y") }
                // The library expects Base64 with padding and the standard alphabet.
                let parameters = (x: Self.base64(x), y: Self.base64(y))
                return try await TokenKey.make(kid, .es256) { await $0.add(ecdsa: try ES256PublicKey(parameters: parameters)) }
            case ("OKP", "Ed25519") where alg ?? "EdDSA" == "EdDSA":
                guard let x else { throw HubError.key("an Ed25519 key lacks x") }
                return try await TokenKey.make(kid, .edDSA) { await $0.add(eddsa: try EdDSA.PublicKey(x: x, curve: .ed25519)) }
            case ("oct", _) where alg ?? "HS256" == "HS256":
                guard let k, let secret = Data(base64Encoded: Self.base64(k)) else { throw HubError.key("a secret lacks k") }
                return try await TokenKey.secret([UInt8](secret), id: kid)
            default: return nil
            }
        }

        private static func base64(_ url: String) -> String {
            let text = url.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
            return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        }
    }
}

/// Keys in a file that is read again when it changes.
///
/// If the file can no longer be read or is invalid, the previous keys stay in use and an error is logged.
actor WatchedKeys: TokenKeySource {
    /// The attributes that show that a file has changed.
    private struct Version: Equatable {
        let modified: Date?
        let size: Int?
        let number: Int?

        init(_ path: String) {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            modified = attributes?[.modificationDate] as? Date
            size = attributes?[.size] as? Int
            number = attributes?[.systemFileNumber] as? Int
        }
    }
    private let path: String
    private let read: @Sendable ([UInt8]) async throws(HubError) -> [TokenKey]
    private let logger: Logger
    private var version: Version
    private var current: [TokenKey]

    /// Reads the keys for the first time.
    init(_ path: String, logger: Logger, read: @escaping @Sendable ([UInt8]) async throws(HubError) -> [TokenKey]) async throws(HubError) {
        (self.path, self.read, self.logger) = (path, read, logger)
        version = Version(path)
        current = try await Self.load(path, read)
    }

    var keys: [TokenKey] {
        get async {
            let version = Version(path)
            guard version != self.version else { return current }
            self.version = version
            do throws(HubError) {
                current = try await Self.load(path, read)
                logger.notice("keys reloaded", metadata: ["file": "\(path)", "keys": "\(current.count)"])
            } catch {
                logger.error("keys not reloaded, the previous ones stay in use", metadata: ["file": "\(path)", "reason": "\(error)"])
            }
            return current
        }
    }

    private static func load(
        _ path: String, _ read: @Sendable ([UInt8]) async throws(HubError) -> [TokenKey]
    ) async throws(HubError) -> [TokenKey] {
        guard let data = FileManager.default.contents(atPath: path) else { throw HubError.key("cannot read \(path)") }
        return try await read([UInt8](data))
    }
}
