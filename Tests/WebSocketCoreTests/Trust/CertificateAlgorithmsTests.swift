import Testing

@testable import WebSocketCore

@Suite struct CertificateAlgorithmsTests {
    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    private static let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]

    /// A certificate with this key and this signature algorithm, both as object identifiers.
    private func certificate(key: [UInt8], signature: [UInt8] = [0x2A], issuer: String = "Authority") throws -> ServerCertificate {
        let der = TrustFixture.der
        func name(_ text: String) -> [UInt8] {
            TrustFixture.sequence(der(0x31, TrustFixture.sequence(der(0x06, [0x55, 0x04, 0x03]), der(0x0C, Array(text.utf8)))))
        }
        let time = der(0x17, Array("260101000000Z".utf8))
        let fields = TrustFixture.sequence(
            der(0x02, [7]), TrustFixture.sequence(der(0x06, [0x2A])), name(issuer), TrustFixture.sequence(time, time), name("Server"), key)
        let whole = TrustFixture.sequence(fields, TrustFixture.sequence(der(0x06, signature)), der(0x03, [0, 9]))
        return try #require(ServerCertificate(der: whole))
    }

    private func key(_ algorithm: [UInt8], _ parameter: [UInt8]? = nil, bits: [UInt8] = [1]) -> [UInt8] {
        let der = TrustFixture.der
        let kind = der(0x30, der(0x06, algorithm) + (parameter.map { der(0x06, $0) } ?? []))
        return TrustFixture.sequence(kind, der(0x03, [0] + bits))
    }

    @Test(arguments: [(2048, 0xC0 as UInt8, 2048), (1024, 0x80, 1024), (2048, 0x01, 2041)])
    func `the size of an RSA key is the size of its modulus`(room: Int, first: UInt8, bits: Int) throws {
        // DER adds a leading zero where the number would be negative.
        let modulus = (first & 0x80 != 0 ? [0] : []) + [first] + [UInt8](repeating: 0x5A, count: room / 8 - 1)
        let numbers = TrustFixture.sequence(TrustFixture.der(0x02, modulus), TrustFixture.der(0x02, [1, 0, 1]))
        let kind = try certificate(key: key(Self.rsa + [0x01], bits: numbers)).keyKind
        #expect(kind == .rsa(bits: bits) && kind.description == "RSA, \(bits) bits")
    }

    @Test func `curves have their names`() throws {
        #expect(try certificate(key: key(Self.curve, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])).keyKind == .curve("P-256"))
        #expect(try certificate(key: key(Self.curve, [0x2B, 0x81, 0x04, 0x00, 0x22])).keyKind == .curve("P-384"))
        #expect(try certificate(key: key([0x2B, 0x65, 0x70])).keyKind == .curve("Ed25519"))
    }

    @Test func `an unknown algorithm is described by its object identifier`() throws {
        #expect(try certificate(key: key([0x2A, 0x03])).keyKind == .other("2a03"))
    }

    @Test func `a malformed key is described by its algorithm alone`() throws {
        #expect(try certificate(key: key(Self.rsa + [0x01], bits: [0x30, 0x05, 0x02])).keyKind == .other("RSA"))
    }

    @Test func `signatures are named after digest and key`() throws {
        let key = key([0x2B, 0x65, 0x70])
        #expect(try certificate(key: key, signature: Self.rsa + [0x0B]).signature == "SHA-256 with RSA")
        #expect(try certificate(key: key, signature: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]).signature == "SHA-384 with ECDSA")
        #expect(try certificate(key: key, signature: [0x2A, 0x09]).signature == "unknown (2a09)")
    }

    @Test func `a SHA-1 signature is weak, except on a self-issued certificate`() throws {
        let key = key([0x2B, 0x65, 0x70])
        #expect(try certificate(key: key, signature: Self.rsa + [0x05]).isWeaklySigned)
        #expect(try !certificate(key: key, signature: Self.rsa + [0x05], issuer: "Server").isWeaklySigned)
        #expect(try !certificate(key: key, signature: Self.rsa + [0x0B]).isWeaklySigned)
    }
}
