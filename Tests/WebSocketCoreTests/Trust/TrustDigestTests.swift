import Testing

@testable import WebSocketCore

@Suite struct TrustDigestTests {
    private func hex(_ bytes: [UInt8]) -> String { bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }

    // FIPS 180-4 and the vectors of NIST's CAVP.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `SHA-256 matches its test vectors`(text: String, digest: String) {
        #expect(hex(SHA256.digest(text.utf8)) == digest)
    }

    @Test func `SHA-256 of a million letters matches its test vector`() {
        let digest = SHA256.digest([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
        #expect(hex(digest) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `inputs of every length modulo the block size have different digests`() {
        var digests: Set<[UInt8]> = []
        for count in 0...130 { digests.insert(SHA256.digest([UInt8](repeating: 0, count: count))) }
        #expect(digests.count == 131)
    }

    @Test func `the pins of keys and certificates are parsed from their descriptions`() throws {
        let key = Pin(publicKeyInfo: Array("abc".utf8))
        #expect(key.description == "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
        let certificate = Pin(certificate: Array("abc".utf8))
        #expect(certificate.description == "cert-sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
        #expect(try Pin("\(key)") == key && Pin("\(certificate)") == certificate)
        #expect(key != certificate)
    }

    @Test(arguments: [
        "", "sha256/", "sha256", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "sha1/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
        "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0", "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=",
        "sha256/ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", "sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0==",
        "SHA256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
    ])
    func `the error for an invalid pin shows the right form`(text: String) {
        let error = #expect(throws: Pin.Malformed.self) { try Pin(text) }
        #expect(error?.description.contains("write sha256/ or cert-sha256/ and 44 characters of base64") == true)
    }
}
