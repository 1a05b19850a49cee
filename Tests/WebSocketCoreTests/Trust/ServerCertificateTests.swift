import Testing

@testable import WebSocketCore

@Suite struct ServerCertificateTests {
    @Test func `a certificate gives its subject, issuer, names and validity`() throws {
        let certificate = try TrustFixture().certificate()
        #expect(certificate.subject == "api.example.com" && certificate.issuer == "Test authority" && !certificate.isSelfIssued)
        #expect(certificate.dnsNames == ["api.example.com", "*.example.net"] && certificate.addresses == [[127, 0, 0, 1]])
        #expect(certificate.notBefore == 1_767_225_600 && certificate.notAfter == 1_830_297_599)
    }

    @Test func `the key pin covers the whole SubjectPublicKeyInfo, and the certificate pin covers the certificate`() throws {
        let fixture = TrustFixture()
        let certificate = try fixture.certificate()
        #expect(certificate.publicKeyInfo == fixture.publicKeyInfo)
        #expect(certificate.publicKeyPin.digest == SHA256.digest(fixture.publicKeyInfo))
        #expect(certificate.certificatePin.digest == SHA256.digest(fixture.der))
    }

    @Test func `a renewed certificate keeps the pin of its key`() throws {
        let (old, new) = (try TrustFixture().certificate(), try TrustFixture(notAfter: "290101000000Z").certificate())
        #expect(old.publicKeyPin == new.publicKeyPin && old.certificatePin != new.certificatePin)
    }

    @Test func `a self-issued certificate is recognized`() throws {
        #expect(try TrustFixture(subject: "Root", issuer: "Root").certificate().isSelfIssued)
    }

    @Test(arguments: [("500101000000Z", "1950-01-01"), ("491231235959Z", "2049-12-31"), ("20500101000000Z", "2050-01-01")])
    func `years with two digits follow RFC 5280`(time: String, day: String) throws {
        let certificate = try TrustFixture(notBefore: time).certificate()
        #expect(CalendarDate(secondsSince1970: certificate.notBefore).description == day)
    }

    @Test func `descriptions of names contain no control characters`() throws {
        let certificate = try TrustFixture(subject: "a\u{1B}[2J", names: ["b\u{7}"]).certificate()
        #expect(!certificate.description.contains("\u{1B}") && !certificate.quotedNames.contains { $0.contains("\u{7}") })
    }

    @Test func `a truncated certificate is not parsed`() {
        let der = TrustFixture().der
        for count in 0..<der.count { #expect(ServerCertificate(der: Array(der.prefix(count))) == nil, "\(count)") }
    }

    @Test func `a changed byte never causes a trap`() {
        let der = TrustFixture().der
        for place in der.indices {
            for value: UInt8 in [0, 0x1F, 0x30, 0x7F, 0x80, 0x81, 0x84, 0xFF, der[place] ^ 1] {
                var changed = der
                changed[place] = value
                if let certificate = ServerCertificate(der: changed) { #expect(certificate.der == changed) }
            }
        }
    }
}

@Suite struct CalendarDateTests {
    @Test(arguments: ["1970-01-01", "1999-12-31", "2000-02-29", "2024-02-29", "2026-11-21", "2100-03-01", "0001-01-01", "9999-12-31"])
    func `a parsed date is written in the same form`(text: String) {
        #expect(CalendarDate(text)?.description == text)
    }

    @Test(arguments: [
        "", "2026-2-1", "2026-02-30", "2100-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "26-01-01", "2026/01/01", "2026-01-01Z",
    ])
    func `an invalid date is nil`(text: String) {
        #expect(CalendarDate(text) == nil)
    }

    @Test func `dates count from 1970 and begin at midnight`() throws {
        #expect(try #require(CalendarDate("1970-01-01")).secondsSince1970 == 0)
        #expect(try #require(CalendarDate("2026-11-21")).secondsSince1970 == 1_795_219_200)
        #expect(CalendarDate(secondsSince1970: 1_795_219_199).description == "2026-11-20")
        #expect(CalendarDate(secondsSince1970: -1).description == "1969-12-31")
        for day in -800_000...800_000 where day % 37 == 0 {
            let date = CalendarDate(secondsSince1970: Int64(day) * 86_400)
            guard day > -719_162 else { continue }
            #expect(CalendarDate(date.description) == date)
        }
    }
}

@Suite struct ServerCertificateNameTests {
    private func certificate(_ names: String...) throws -> ServerCertificate {
        try TrustFixture(subject: "common.example.com", names: names, addresses: [[192, 0, 2, 1]]).certificate()
    }

    @Test(arguments: [
        ("a.example.com", "a.example.com", true), ("A.example.com", "a.EXAMPLE.com", true), ("a.example.com", "a.example.com.", true),
        ("a.example.com", "b.example.com", false), ("example.com", "a.example.com", false), ("a.example.com", "example.com", false),
        ("*.example.com", "a.example.com", true), ("*.example.com", "example.com", false), ("*.example.com", "a.b.example.com", false),
        ("*.example.com", ".example.com", false), ("*.example.com", "aexample.com", false), ("*.com", "example.com", false),
        ("a*.example.com", "ab.example.com", false), ("*.*.example.com", "a.b.example.com", false), ("*", "example", false),
        ("", "", false),
    ])
    func `a name covers itself, and a star covers one label`(presented: String, host: String, isFor: Bool) throws {
        #expect(try certificate(presented).isFor(name: host) == isFor)
    }

    @Test func `one of several names is enough`() throws {
        #expect(try certificate("a.example", "b.example").isFor(name: "b.example"))
    }

    @Test func `the common name is ignored, and an address covers only itself`() throws {
        let certificate = try certificate()
        #expect(!certificate.isFor(name: "common.example.com") && !certificate.isFor(name: "192.0.2.1"))
        #expect(certificate.isFor(address: [192, 0, 2, 1]) && !certificate.isFor(address: [192, 0, 2, 2]))
        #expect(!certificate.isFor(address: [UInt8](repeating: 0, count: 10) + [255, 255, 192, 0, 2, 1]))
    }
}
