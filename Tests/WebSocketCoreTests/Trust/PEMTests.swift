import Testing

@testable import WebSocketCore

@Suite struct PEMTests {
    private func text(_ lines: String...) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }

    @Test func `all certificates are found between other blocks and text`() {
        let pem = text(
            "# my authorities", "-----BEGIN CERTIFICATE-----", "AQID", "BAU=", "-----END CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----",
            "AAAA", "-----END PRIVATE KEY-----", "-----BEGIN X509 CERTIFICATE-----\r", " Bg== \r", "-----END X509 CERTIFICATE-----\r")
        #expect(PEM.certificates(in: pem) == [[1, 2, 3, 4, 5], [6]])
        #expect(PEM.certificates(in: []) == [])
    }

    @Test func `DER instead of PEM is recognized by its content, and the error says how to convert it`() {
        let oid: [UInt8] = [0x06, 1, 0x2A]
        let certificate: [UInt8] = [0x30, 0x81, 7, 0x30, 5, 0xA0, 3, 0x02, 1, 2]
        #expect(PEM.mistake(in: certificate)?.hasSuffix("it is DER, but PEM is required: convert it with openssl x509 -inform der") == true)
        #expect(PEM.mistake(in: [0x30, 6, 0x02, 1, 0, 0x04, 1, 7])?.contains("openssl pkey -inform der") == true)
        #expect(PEM.mistake(in: [0x30, 0x82, 0, 5, 0x30, 3] + oid)?.contains("pkey -pubin") == true)
        #expect(PEM.mistake(in: [0x30, 3, 0x02, 1, 3])?.contains("PKCS#12") == true)
    }

    @Test(arguments: [
        [], [0x30], [0x30, 0x80], [0x30, 0x82, 1], [0x30, 5, 0x02, 1], [0x30, 3, 0x02, 1, 3, 0], [0x30, 0x85, 0, 0, 0, 0, 1, 7],
        [0x31, 1, 0], Array("-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----".utf8), Array("000".utf8),
    ])
    func `other bytes are not reported as DER`(bytes: [UInt8]) { #expect(PEM.mistake(in: bytes) == nil) }

    @Test(arguments: [
        "-----BEGIN CERTIFICATE-----\nAQID", "-----BEGIN CERTIFICATE-----\nAQI\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nA*ID\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nAQID\n-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nA===\n-----END CERTIFICATE-----",
    ])
    func `one malformed certificate invalidates the text`(pem: String) { #expect(PEM.certificates(in: Array(pem.utf8)) == nil) }
}
