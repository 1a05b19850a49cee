import WebSocketCore

extension FuzzTarget {
    static func certificate(_ input: inout FuzzInput) throws {
        let bytes = Array(input.rest)
        guard let certificate = ServerCertificate(der: bytes) else { return }
        try expect(bytes.firstRange(of: certificate.publicKeyInfo) != nil, "the key is not part of the certificate")

        for pin in [certificate.publicKeyPin, certificate.certificatePin] {
            try expectEqual(try Pin(pin.description), pin, "a pin is not parsed from its description")
            let set = PinSet("a.example", pins: [pin])
            try expect([set].reports(on: [certificate], of: ["a.example"], now: 0).isEmpty, "its own pin does not match: \(pin)")
        }
        let shown = ([certificate.description, certificate.quotedIssuer] + certificate.quotedNames).joined()
        try expect(
            shown.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F ~= $0.value) },
            "the description has control characters: \(shown)")

        for name in certificate.dnsNames where !name.hasPrefix("*") && !["", "."].contains(name) {
            try expect(certificate.isFor(name: name), "it does not cover its own name: \(name)")
        }
        try expect(!certificate.isFor(name: "") && !certificate.isFor(name: "."), "it covers an empty name")
        for address in certificate.addresses { try expect(certificate.isFor(address: address), "it does not cover its own address") }
        for second in [certificate.notBefore, certificate.notAfter] {
            let day = CalendarDate(secondsSince1970: second)
            try expectEqual(CalendarDate("\(day)"), day, "a day is not written as it is read")
        }
    }
}
