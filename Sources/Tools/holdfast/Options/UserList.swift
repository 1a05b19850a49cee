import ArgumentParser
import CodecCore
import Foundation
import HoldfastRouter
import WAMPSigning

/// The users of a file: on each line a method, a name, a secret, and perhaps a role; `#` begins a line that says nothing.
///
/// The secret of `cryptosign` is none: it is the public key, in hexadecimal.
struct UserList {
    struct User {
        let name: String
        let proof: WAMPUsers.Proof
        let role: String
    }
    let users: [User]

    /// Reads a file; with a key salts are the same each time.
    init(file: String, decoyKey: [UInt8]? = nil) throws {
        users = try Self.users(in: try String(contentsOfFile: file, encoding: .utf8), of: file, decoyKey: decoyKey)
    }

    static func users(in text: String, of file: String, decoyKey: [UInt8]? = nil) throws -> [User] {
        // As those have theirs who are not on the list.
        let salts = decoyKey.map { Decoys(key: $0) } ?? Decoys()
        var users: [User] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            // The line itself holds a secret, and is not shown.
            guard 3...4 ~= words.count, let proofs = try? proofs(first, words[1], words[2], salts), !proofs.isEmpty else {
                throw ValidationError(
                    "\(file.escapedOnOneLine), line \(index + 1): use METHOD NAME SECRET [ROLE], METHOD ticket, cra, salted or scram, or "
                        + "cryptosign with a public key of 64 hexadecimal digits.")
            }
            if let hidden = words[1].firstHidden ?? words.dropFirst(3).first?.firstHidden {
                throw ValidationError(
                    "\(file.escapedOnOneLine), line \(index + 1): the name or the role holds a character that nobody sees (\(hidden)).")
            }
            users += proofs.map { User(name: words[1], proof: $0, role: words.count == 4 ? words[3] : "user") }
        }
        return users
    }

    /// What a line stands for; nothing if it is none.
    private static func proofs(_ method: String, _ name: String, _ secret: String, _ salts: Decoys) throws -> [WAMPUsers.Proof] {
        switch method {
        case "ticket": return [.ticket(secret)]
        case "cra": return [.cra(CRASecret(secret))]
        case "salted":
            let salt = salts.hexadecimalSalt(of: name)
            return [.cra(CRASecret(salted: try ChallengeResponse.saltedSecret(secret, salt: salt), salt: salt))]
        case "scram":
            let salt = salts.salt(of: name)
            return try ScramDialect.allCases.map {
                .scram(try ScramKeys(password: secret, dialect: $0, hash: .pbkdf2(iterations: 4096), salt: salt))
            }
        case "cryptosign":
            return CryptosignChallenge(publicKey: secret) == nil ? [] : [.cryptosign(publicKey: secret)]
        default: return []
        }
    }
}
