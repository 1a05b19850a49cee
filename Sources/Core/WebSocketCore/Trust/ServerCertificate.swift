/// A certificate of a server's chain, as much as trust asks about it (RFC 5280 §4.1).
public struct ServerCertificate: Hashable, Sendable, CustomStringConvertible {
    /// The whole certificate in DER.
    public let der: [UInt8]
    /// Its public key with the algorithm (SubjectPublicKeyInfo) in DER: what a pin of a key is the digest of.
    public let publicKeyInfo: [UInt8]
    /// Whom it is for: the common name, or the organization, or nothing.
    public let subject: String
    /// Who vouches for it: the common name, or the organization, or nothing.
    public let issuer: String
    /// The DNS names that it is for, wildcards among them.
    public let dnsNames: [String]
    /// The addresses that it is for: 4 or 16 bytes each.
    public let addresses: [[UInt8]]
    /// The first second of its time, counted from 1970 in UTC.
    public let notBefore: Int64
    /// The last second of its time, counted from 1970 in UTC.
    public let notAfter: Int64
    /// Whether subject and issuer are the same: a root, or signed by itself.
    public let isSelfIssued: Bool

    /// Reads a certificate in DER; nil if it is none.
    public init?(der: [UInt8]) {
        var outer = DERReader(der[...])
        guard var certificate = outer.next(DERReader.sequence)?.inside, var fields = certificate.next(DERReader.sequence)?.inside else {
            return nil
        }
        _ = fields.next(0xA0)  // The version.
        guard fields.next(DERReader.integer) != nil, fields.next(DERReader.sequence) != nil,
            let issuer = fields.next(DERReader.sequence), var validity = fields.next(DERReader.sequence)?.inside,
            let notBefore = validity.next().flatMap(Self.seconds), let notAfter = validity.next().flatMap(Self.seconds),
            let subject = fields.next(DERReader.sequence), let key = fields.next(DERReader.sequence)
        else { return nil }
        self.der = der
        publicKeyInfo = Array(key.whole)
        (self.subject, self.issuer) = (Self.name(subject), Self.name(issuer))
        (self.notBefore, self.notAfter) = (notBefore, notAfter)
        isSelfIssued = subject.whole.elementsEqual(issuer.whole)
        (dnsNames, addresses) = Self.alternativeNames(&fields)
    }

    /// The digest of its public key: it stays the same when the certificate is renewed for the same key.
    public var publicKeyPin: Pin { Pin(publicKeyInfo: publicKeyInfo) }
    /// The digest of the whole certificate.
    public var certificatePin: Pin { Pin(certificate: der) }

    /// The subject, in quotation marks.
    public var description: String { quoted(subject) }

    /// For messages: foreign text cannot drive a terminal.
    package var quotedIssuer: String { quoted(issuer) }
    /// For messages: the names and addresses that it is for, eight at most.
    package var quotedNames: [String] {
        let all = dnsNames.map { printable($0) } + addresses.map(Self.written)
        return all.prefix(8) + (all.count > 8 ? ["…"] : [])
    }

    // MARK: Reading

    private static let (commonName, organization): ([UInt8], [UInt8]) = ([0x55, 0x04, 0x03], [0x55, 0x04, 0x0A])
    private static let alternativeName: [UInt8] = [0x55, 0x1D, 0x11]

    private static func name(_ value: DERReader.Value) -> String {
        var (parts, texts) = (value.inside, [[UInt8]: String]())
        while var set = parts.next(DERReader.set)?.inside {
            while var pair = set.next(DERReader.sequence)?.inside {
                guard let kind = pair.next(DERReader.objectID), let text = pair.next() else { break }
                texts[Array(kind.content)] = String(decoding: text.content, as: UTF8.self)
            }
        }
        return texts[commonName] ?? texts[organization] ?? ""
    }

    /// `192.0.2.1`, or eight groups.
    private static func written(_ address: [UInt8]) -> String {
        if address.count == 4 { return address.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: 0, to: address.count - 1, by: 2).map { UInt16(address[$0]) << 8 | UInt16(address[$0 + 1]) }
        return groups.map { String($0, radix: 16) }.joined(separator: ":")
    }

    private static func alternativeNames(_ fields: inout DERReader) -> (names: [String], addresses: [[UInt8]]) {
        var (names, addresses): ([String], [[UInt8]]) = ([], [])
        while let field = fields.next() {
            guard field.tag == 0xA3 else { continue }
            var wrapper = field.inside
            guard var extensions = wrapper.next(DERReader.sequence)?.inside else { break }
            while var one = extensions.next(DERReader.sequence)?.inside {
                guard one.next(DERReader.objectID)?.content.elementsEqual(alternativeName) == true else { continue }
                _ = one.next(DERReader.boolean)  // Critical or not.
                guard var value = one.next(DERReader.octets)?.inside, var list = value.next(DERReader.sequence)?.inside else { continue }
                while let name = list.next() {
                    if name.tag == 0x82 { names.append(String(decoding: name.content, as: UTF8.self)) }
                    if name.tag == 0x87 { addresses.append(Array(name.content)) }
                }
            }
        }
        return (names, addresses)
    }

    /// `YYMMDDHHMMSSZ`, or with four digits for the year (RFC 5280 §4.1.2.5).
    private static func seconds(_ value: DERReader.Value) -> Int64? {
        let digits = value.content.dropLast()
        guard value.content.last == UInt8(ascii: "Z"), digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        let yearDigits = value.tag == DERReader.utcTime ? 2 : 4
        guard value.tag == DERReader.utcTime || value.tag == DERReader.generalizedTime, digits.count == yearDigits + 10 else { return nil }
        func number(_ from: Int, _ count: Int) -> Int { digits.dropFirst(from).prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        var year = number(0, yearDigits)
        if yearDigits == 2 { year += year < 50 ? 2000 : 1900 }
        let (hour, minute, second) = (number(yearDigits + 4, 2), number(yearDigits + 6, 2), number(yearDigits + 8, 2))
        guard let day = CalendarDate(year: year, month: number(yearDigits, 2), day: number(yearDigits + 2, 2)), hour < 24, minute < 60
        else { return nil }
        return day.secondsSince1970 + Int64((hour * 60 + minute) * 60 + second)
    }
}
