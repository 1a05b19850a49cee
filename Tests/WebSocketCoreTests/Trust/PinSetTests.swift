import Testing

@testable import WebSocketCore

@Suite struct PinSetTests {
    private let host = "api.example.com"
    private let now: Int64 = 1_795_219_200  // 2026-11-21

    private func chain() throws -> [ServerCertificate] {
        [
            try TrustFixture().certificate(), try TrustFixture(subject: "Between", key: [4]).certificate(),
            try TrustFixture(subject: "Root", issuer: "Root", key: [5]).certificate(),
        ]
    }

    private func strange() -> Pin { Pin(publicKeyInfo: [0]) }

    private func reports(_ sets: PinSet..., names: [String] = ["api.example.com"]) throws -> [PinReport] {
        try sets.reports(on: chain(), of: names, now: now)
    }

    @Test func `any certificate of the chain may have the pin, by its key or as a whole`() throws {
        for certificate in try chain() {
            for pin in [certificate.publicKeyPin, certificate.certificatePin] {
                #expect(try reports(PinSet(host, pins: [strange(), pin])).isEmpty)
            }
        }
    }

    @Test func `a chain without any of the pins is refused, and reported with what it had`() throws {
        let set = PinSet(host, pins: [strange()])
        let found = try reports(set)
        #expect(found == [PinReport(host: host, set: set, finding: .mismatch, isRefused: true, chain: try chain())])
    }

    @Test func `a chain that nobody could read matches nothing`() {
        #expect([PinSet(host, pins: [strange()])].reports(on: [], of: [host], now: now).first?.isRefused == true)
    }

    @Test func `a set that only reports refuses nothing`() throws {
        #expect(try reports(PinSet(host, pins: [strange()], mode: .reportOnly)).map(\.isRefused) == [false])
    }

    @Test func `every set that covers the host must hold, and no other`() throws {
        let good = PinSet("**.example.com", pins: [try chain()[0].publicKeyPin])
        let (bad, foreign) = (PinSet("*.example.com", pins: [strange()]), PinSet("other.example", pins: [strange()]))
        #expect(try reports(good, bad, foreign).map(\.set) == [bad])
    }

    @Test func `the name of SNI is a name of the host too`() throws {
        let set = PinSet(host, pins: [strange()])
        #expect(try reports(set, names: ["192.0.2.1", host]).map(\.host) == [host])
        #expect(try reports(set, names: ["192.0.2.1"]).isEmpty)
    }

    @Test func `a set counts until its day begins`() throws {
        let (today, tomorrow) = (CalendarDate("2026-11-21"), CalendarDate("2026-11-22"))
        #expect(try reports(PinSet(host, pins: [strange()], expires: tomorrow)).map(\.isRefused) == [true])
        #expect(try reports(PinSet(host, pins: [strange()], expires: today)).map(\.isRefused) == [false])
    }

    @Test func `after its day a set falls back as it says`() throws {
        let (day, good) = (CalendarDate("2026-01-01"), try chain()[0].publicKeyPin)
        func outcome(_ policy: PinSet.AfterExpiry, _ pin: Pin, _ mode: PinSet.Mode = .enforce) throws -> String {
            try reports(PinSet(host, pins: [pin], mode: mode, expires: day, afterExpiry: policy))
                .map { "\($0.finding)\($0.isRefused ? ", refused" : "")" }.joined()
        }
        #expect(try outcome(.trustAuthorities, strange()) == "expired")
        #expect(try outcome(.trustAuthorities, good) == "expired")
        #expect(try outcome(.reportOnly, strange()) == "mismatch")
        #expect(try outcome(.reportOnly, good) == "")
        #expect(try outcome(.refuse, strange()) == "expired, refused")
        #expect(try outcome(.refuse, good) == "expired, refused")
        #expect(try outcome(.refuse, strange(), .reportOnly) == "expired")
    }

    @Test(arguments: [
        ("example.com", "example.com", true), ("example.com", "EXAMPLE.com", true), ("example.com", "example.com.", true),
        ("example.com.", "example.com", true), ("example.com", "a.example.com", false), ("*.example.com", "a.example.com", true),
        ("*.example.com", "example.com", false), ("*.example.com", "a.b.example.com", false), ("*.example.com", ".example.com", false),
        ("*.example.com", "badexample.com", false), ("**.example.com", "example.com", true), ("**.example.com", "a.b.example.com", true),
        ("**.example.com", "badexample.com", false), ("*.Example.com", "a.example.COM.", true),
    ])
    func `a pattern covers the hosts that it says`(pattern: String, host: String, isCovered: Bool) {
        #expect(PinSet(pattern, pins: [strange()]).covers(host) == isCovered)
    }

    @Test(arguments: ["", "*", "*.", "**.", "a.*.com", "*.*.com", "wss://example.com", "***.example.com"])
    func `what is no pattern is a problem`(pattern: String) {
        #expect(PinSet(pattern, pins: [strange()]).problem?.contains("write example.com, *.example.com or **.example.com") == true)
    }

    @Test func `a set without hosts or pins is a problem`() {
        #expect(PinSet(pins: [strange()]).problem != nil && PinSet(host, pins: []).problem != nil)
        #expect(PinSet(host, pins: [strange()]).problem == nil)
    }
}
