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

    private func unknownPin() -> Pin { Pin(publicKeyInfo: [0]) }

    private func reports(_ sets: PinSet..., names: [String] = ["api.example.com"]) throws -> [PinReport] {
        try sets.reports(on: chain(), of: names, now: now)
    }

    @Test func `any certificate of the chain may match, by its key or as a whole`() throws {
        for certificate in try chain() {
            for pin in [certificate.publicKeyPin, certificate.certificatePin] {
                #expect(try reports(PinSet(host, pins: [unknownPin(), pin])).isEmpty)
            }
        }
    }

    @Test func `a chain without a matching pin is refused and reported with its certificates`() throws {
        let set = PinSet(host, pins: [unknownPin()])
        let found = try reports(set)
        #expect(found == [PinReport(host: host, set: set, finding: .mismatch, isRefused: true, chain: try chain())])
    }

    @Test func `an unreadable chain matches no pin`() {
        #expect([PinSet(host, pins: [unknownPin()])].reports(on: [], of: [host], now: now).first?.isRefused == true)
    }

    @Test func `a set in report-only mode refuses nothing`() throws {
        #expect(try reports(PinSet(host, pins: [unknownPin()], mode: .reportOnly)).map(\.isRefused) == [false])
    }

    @Test func `every set that covers the host must match, and other sets are ignored`() throws {
        let good = PinSet("**.example.com", pins: [try chain()[0].publicKeyPin])
        let (bad, foreign) = (PinSet("*.example.com", pins: [unknownPin()]), PinSet("other.example", pins: [unknownPin()]))
        #expect(try reports(good, bad, foreign).map(\.set) == [bad])
    }

    @Test func `a set also applies to the SNI name`() throws {
        let set = PinSet(host, pins: [unknownPin()])
        #expect(try reports(set, names: ["192.0.2.1", host]).map(\.host) == [host])
        #expect(try reports(set, names: ["192.0.2.1"]).isEmpty)
    }

    @Test func `a set applies until its expiry date begins`() throws {
        let (today, tomorrow) = (CalendarDate("2026-11-21"), CalendarDate("2026-11-22"))
        #expect(try reports(PinSet(host, pins: [unknownPin()], expires: tomorrow)).map(\.isRefused) == [true])
        #expect(try reports(PinSet(host, pins: [unknownPin()], expires: today)).map(\.isRefused) == [false])
    }

    @Test func `after its expiry date a set follows its policy`() throws {
        let (expiry, good) = (CalendarDate("2026-01-01"), try chain()[0].publicKeyPin)
        func outcome(_ policy: PinSet.AfterExpiry, _ pin: Pin, _ mode: PinSet.Mode = .enforce) throws -> String {
            try reports(PinSet(host, pins: [pin], mode: mode, expires: expiry, afterExpiry: policy))
                .map { "\($0.finding)\($0.isRefused ? ", refused" : "")" }.joined()
        }
        #expect(try outcome(.trustAuthorities, unknownPin()) == "expired")
        #expect(try outcome(.trustAuthorities, good) == "expired")
        #expect(try outcome(.reportOnly, unknownPin()) == "mismatch")
        #expect(try outcome(.reportOnly, good) == "")
        #expect(try outcome(.refuse, unknownPin()) == "expired, refused")
        #expect(try outcome(.refuse, good) == "expired, refused")
        #expect(try outcome(.refuse, unknownPin(), .reportOnly) == "expired")
    }

    @Test(arguments: [
        ("example.com", "example.com", true), ("example.com", "EXAMPLE.com", true), ("example.com", "example.com.", true),
        ("example.com.", "example.com", true), ("example.com", "a.example.com", false), ("*.example.com", "a.example.com", true),
        ("*.example.com", "example.com", false), ("*.example.com", "a.b.example.com", false), ("*.example.com", ".example.com", false),
        ("*.example.com", "badexample.com", false), ("**.example.com", "example.com", true), ("**.example.com", "a.b.example.com", true),
        ("**.example.com", "badexample.com", false), ("*.Example.com", "a.example.COM.", true),
    ])
    func `a pattern covers its hosts and no others`(pattern: String, host: String, isCovered: Bool) {
        #expect(PinSet(pattern, pins: [unknownPin()]).covers(host) == isCovered)
    }

    @Test(arguments: ["", "*", "*.", "**.", "a.*.com", "*.*.com", "wss://example.com", "***.example.com"])
    func `an invalid pattern is a problem`(pattern: String) {
        #expect(PinSet(pattern, pins: [unknownPin()]).problem?.contains("write example.com, *.example.com or **.example.com") == true)
    }

    @Test func `a set without hosts or pins is a problem`() {
        #expect(PinSet(pins: [unknownPin()]).problem != nil && PinSet(host, pins: []).problem != nil)
        #expect(PinSet(host, pins: [unknownPin()]).problem == nil)
    }
}
