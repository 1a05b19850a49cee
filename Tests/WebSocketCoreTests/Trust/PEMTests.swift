import Testing

@testable import WebSocketCore

@Suite struct PEMTests {
    private func text(_ lines: String...) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }

    @Test func `all certificates are found, whatever stands around them`() {
        let pem = text(
            "# my authorities", "-----BEGIN CERTIFICATE-----", "AQID", "BAU=", "-----END CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----",
            "AAAA", "-----END PRIVATE KEY-----", "-----BEGIN X509 CERTIFICATE-----\r", " Bg== \r", "-----END X509 CERTIFICATE-----\r")
        #expect(PEM.certificates(in: pem) == [[1, 2, 3, 4, 5], [6]])
        #expect(PEM.certificates(in: []) == [])
    }

    @Test(arguments: [
        "-----BEGIN CERTIFICATE-----\nAQID", "-----BEGIN CERTIFICATE-----\nAQI\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nA*ID\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nAQID\n-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\nA===\n-----END CERTIFICATE-----",
    ])
    func `one that is broken spoils the text`(pem: String) { #expect(PEM.certificates(in: Array(pem.utf8)) == nil) }
}
