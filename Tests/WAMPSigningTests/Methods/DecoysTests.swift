import Foundation
import Testing

@testable import WAMPSigning

/// The made-up salts and keys for unknown users.
@Suite struct DecoysTests {
    private let decoys = Decoys(key: [UInt8](repeating: 7, count: 32))

    private func salts(like salt: String, letters: String = "") throws -> [String] {
        try (0..<200).map {
            try #require(
                decoys.secret(of: "dan\($0)", like: CRASecret(salted: "x", salt: salt), letters: Set(letters.utf8)).salt)
        }
    }

    /// Whether a text is canonical Base64.
    private func isBase64(_ text: String) -> Bool { Data(base64Encoded: text)?.base64EncodedString() == text }

    @Test(arguments: [14, 16, 17]) func `a decoy for a Base64 salt is Base64 with the same number of bytes`(_ count: Int) throws {
        let salt = Data((0..<count).map { UInt8(250 - $0) }).base64EncodedString()
        // A single salt may lack these characters, but all together contain them.
        let found = try salts(like: salt, letters: "+/")
        #expect(found.allSatisfy { isBase64($0) && Data(base64Encoded: $0)?.count == count })
        let letters = Set(found.joined())
        #expect(letters.isSuperset(of: "+/09azAZ") && Set(found).count == 200)
    }

    @Test func `a decoy for a URL-safe Base64 salt uses that alphabet, without padding if the salt has none`() throws {
        let found = try salts(like: "Ab3-xY_9Qw0kZt", letters: "")
        #expect(found.allSatisfy { $0.count == 14 && !$0.contains("=") && !$0.contains("+") && !$0.contains("/") })
        #expect(Set(found.joined()).isSuperset(of: "-_"))
        // The last character encodes four bits of the data and two zero bits.
        let last = Set(found.compactMap(\.last))
        #expect(found.allSatisfy { isBase64($0.replacing("-", with: "+").replacing("_", with: "/") + "==") } && last.count <= 4)
    }

    @Test func `a decoy for a hexadecimal salt is hexadecimal, even if the salt uses few digits`() throws {
        let found = try salts(like: "0011223344556677", letters: "0123456789abcdef")
        #expect(found.allSatisfy { $0.count == 16 && $0.allSatisfy { $0.isHexDigit && !$0.isUppercase } })
        #expect(Set(found.joined()).count == 16)
    }

    @Test func `a decoy depends only on the name and the key`() {
        let (again, other) = (Decoys(key: [UInt8](repeating: 7, count: 32)), Decoys(key: [UInt8](repeating: 8, count: 32)))
        #expect(decoys.hexadecimalSalt(of: "dan") == again.hexadecimalSalt(of: "dan"))
        #expect(decoys.hexadecimalSalt(of: "dan") != other.hexadecimalSalt(of: "dan"))
        #expect(decoys.salt(of: "dan") == again.salt(of: "dan") && decoys.salt(of: "dan") != other.salt(of: "dan"))
        #expect(Decoys().hexadecimalSalt(of: "dan") != Decoys().hexadecimalSalt(of: "dan"))
    }

    @Test func `an unknown name gets the salt that it would have on the list`() throws {
        let like = CRASecret(salted: "x", salt: decoys.hexadecimalSalt(of: "ann"))
        let letters = Set(decoys.hexadecimalSalt(of: "bob").utf8)
        #expect(decoys.secret(of: "dan", like: like, letters: letters).salt == decoys.hexadecimalSalt(of: "dan"))
        let keys = try ScramKeys(password: "x", dialect: .standard, hash: .pbkdf2(iterations: 1), salt: decoys.salt(of: "ann"))
        #expect(decoys.keys(of: "dan", like: keys, salts: [keys.salt]).salt == decoys.salt(of: "dan"))
    }

    @Test func `an unknown name has separate salts for the dialects if the users do, otherwise a common one`() throws {
        let all = try ScramDialect.allCases.map { try ScramKeys(password: "x", dialect: $0, hash: .pbkdf2(iterations: 1)) }
        #expect(Set(all.map { decoys.keys(of: "dan", like: $0, salts: all.map(\.salt)).salt }).count == 2)
        let salt = all[0].salt
        let same = try ScramDialect.allCases.map { try ScramKeys(password: "x", dialect: $0, hash: .pbkdf2(iterations: 1), salt: salt) }
        #expect(Set(same.map { decoys.keys(of: "dan", like: $0, salts: same.map(\.salt)).salt }).count == 1)
    }
}
