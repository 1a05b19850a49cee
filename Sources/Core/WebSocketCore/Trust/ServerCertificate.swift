import MachineCore

/// A certificate of a server's chain, with the fields that trust decisions need (RFC 5280 §4.1).
public struct ServerCertificate: Hashable, Sendable, CustomStringConvertible {
    /// The whole certificate in DER.
    public let der: [UInt8]
    /// The public key with its algorithm (SubjectPublicKeyInfo) in DER, from which a key pin is computed.
    public let publicKeyInfo: [UInt8]
    /// The subject: the common name, or the organization, or empty.
    public let subject: String
    /// The issuer: the common name, or the organization, or empty.
    public let issuer: String
    /// The DNS names, including wildcards.
    public let dnsNames: [String]
    /// The IP addresses: 4 or 16 bytes each.
    public let addresses: [[UInt8]]
    /// The first second of its validity, counted from 1970 in UTC.
    public let notBefore: Int64
    /// The last second of its validity, counted from 1970 in UTC.
    public let notAfter: Int64
    /// Whether subject and issuer are the same: a root, or self-signed.
    public let isSelfIssued: Bool

    /// Parses a certificate in DER; fails if it is not one.
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

    /// The digest of the public key.
    ///
    /// It stays the same when the certificate is renewed with the same key.
    public var publicKeyPin: Pin { Pin(publicKeyInfo: publicKeyInfo) }
    /// The digest of the whole certificate.
    public var certificatePin: Pin { Pin(certificate: der) }

    /// The subject, in quotation marks.
    public var description: String { quoted(subject) }

    /// The issuer for messages, escaped so that foreign text cannot control a terminal.
    package var quotedIssuer: String { quoted(issuer) }
    /// The names and addresses for messages, at most eight.
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

    /// Formats an address as `192.0.2.1`, or as eight groups.
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

    /// Reads `YYMMDDHHMMSSZ`, or the same with a four-digit year (RFC 5280 §4.1.2.5).
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

    /// The kind and size of a public key.
    package enum KeyKind: Hashable, Sendable, CustomStringConvertible {
        /// RSA, with this many bits.
        case rsa(bits: Int)
        /// An elliptic curve, by name.
        case curve(String)
        /// Another algorithm, by its object identifier in hexadecimal.
        case other(String)

        /// The kind in words, such as `RSA, 2048 bits`.
        package var description: String {
            switch self {
            case .rsa(let bits): "RSA, \(bits) bits"
            case .curve(let name): name
            case .other(let name): "unknown (\(name))"
            }
        }
    }

    /// The kind of the public key.
    package var keyKind: KeyKind {
        var outer = DERReader(publicKeyInfo[...])
        guard var info = outer.next(DERReader.sequence)?.inside, var algorithm = info.next(DERReader.sequence)?.inside,
            let name = algorithm.next(DERReader.objectID)
        else { return .other("") }
        if name.content.elementsEqual(Self.rsa + [0x01]) {
            // The key is in a bit string, whose first byte is the number of unused bits at its end: zero.
            guard let bits = info.next(DERReader.bitString) else { return .other("RSA") }
            var key = DERReader(bits.content.dropFirst())
            guard var numbers = key.next(DERReader.sequence)?.inside, let modulus = numbers.next(DERReader.integer) else {
                return .other("RSA")
            }
            let digits = modulus.content.drop { $0 == 0 }
            return .rsa(bits: digits.count * 8 - (digits.first?.leadingZeroBitCount ?? 0))
        }
        if let curve = Self.edwards[Array(name.content)] { return .curve(curve) }
        guard name.content.elementsEqual(Self.ecPublicKey), let curve = algorithm.next(DERReader.objectID) else {
            return .other(Hexadecimal.text(name.content))
        }
        return .curve(Self.curves[Array(curve.content)] ?? "elliptic curve (\(Hexadecimal.text(curve.content)))")
    }

    /// The signature algorithm of the issuer, such as `SHA-256 with RSA`.
    package var signature: String {
        guard let name = signatureName else { return "unknown" }
        return Self.signatures[name] ?? Self.edwards[name] ?? "unknown (\(Hexadecimal.text(name)))"
    }

    /// Whether the digest in its signature can be forged: MD5 or SHA-1.
    ///
    /// A self-signature proves nothing in any case and does not count.
    package var isWeaklySigned: Bool { !isSelfIssued && ["MD5", "SHA-1"].contains { signature.hasPrefix($0) } }

    private var signatureName: [UInt8]? {
        var outer = DERReader(der[...])
        guard var certificate = outer.next(DERReader.sequence)?.inside, certificate.next(DERReader.sequence) != nil,
            var algorithm = certificate.next(DERReader.sequence)?.inside
        else { return nil }
        return (algorithm.next(DERReader.objectID)?.content).map { Array($0) }
    }

    // RFC 8017, RFC 5480, RFC 5758, RFC 8410: encoded in DER.
    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    private static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04]
    private static let edwards: [[UInt8]: String] = [[0x2B, 0x65, 0x70]: "Ed25519", [0x2B, 0x65, 0x71]: "Ed448"]
    private static let curves: [[UInt8]: String] = [
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]: "P-256", [0x2B, 0x81, 0x04, 0x00, 0x22]: "P-384",
        [0x2B, 0x81, 0x04, 0x00, 0x23]: "P-521",
    ]
    private static let signatures: [[UInt8]: String] = [
        rsa + [0x04]: "MD5 with RSA", rsa + [0x05]: "SHA-1 with RSA", rsa + [0x0A]: "RSA-PSS", rsa + [0x0B]: "SHA-256 with RSA",
        rsa + [0x0C]: "SHA-384 with RSA", rsa + [0x0D]: "SHA-512 with RSA", ecdsa + [0x01]: "SHA-1 with ECDSA",
        ecdsa + [0x03, 0x02]: "SHA-256 with ECDSA", ecdsa + [0x03, 0x03]: "SHA-384 with ECDSA", ecdsa + [0x03, 0x04]: "SHA-512 with ECDSA",
    ]

    /// Returns whether it is valid for this name (RFC 9525 §6): as one of its DNS names, or below a `*` that is the whole first label.
    ///
    /// The common name is ignored. The addresses of the name are ignored too, because anyone can get a certificate for their own address.
    public func isFor(name: String) -> Bool {
        let name = Self.bare(name)
        return dnsNames.contains { presented in
            let presented = Self.bare(presented)
            guard presented.hasPrefix("*.") else { return !name.isEmpty && presented == name }
            let domain = presented.dropFirst()
            guard domain.dropFirst().contains("."), !domain.contains("*"), name.hasSuffix(domain) else { return false }
            let label = name.dropLast(domain.count)
            return !label.isEmpty && !label.contains(".")
        }
    }

    /// Returns whether it is valid for this address: 4 or 16 bytes, compared exactly.
    public func isFor(address: [UInt8]) -> Bool { addresses.contains(address) }

    /// Returns the name in lower case and without the dot of the root.
    private static func bare(_ name: String) -> Substring {
        let name = HeaderSyntax.lowercased(name)
        return name.hasSuffix(".") ? name.dropLast() : name[...]
    }
}

/// A day of the Gregorian calendar, beginning at midnight UTC.
public struct CalendarDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of days since 1970-01-01.
    public let daysSince1970: Int

    /// Parses `2027-06-30`; fails if it is not a valid day.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], parts.allSatisfy({ HeaderSyntax.isDecimal($0) }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Creates a day; fails if it does not exist.
    public init?(year: Int, month: Int, day: Int) {
        guard 1...9999 ~= year, 1...12 ~= month, 1...31 ~= day else { return nil }
        // The year starts in March, so that the leap day is its last day.
        let (marchYear, marchMonth) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        daysSince1970 = marchYear * 365 + leapDays + (marchMonth * 153 + 2) / 5 + day - 719_469
        // A date such as 30 February would become another day.
        guard (self.year, self.month, self.day) == (year, month, day) else { return nil }
    }

    /// Creates the day that contains this second, counted from 1970 in UTC.
    public init(secondsSince1970 seconds: Int64) {
        daysSince1970 = Int((seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400)
    }

    /// The beginning of the day, in seconds since 1970.
    public var secondsSince1970: Int64 { Int64(daysSince1970) * 86_400 }

    /// The day as `2027-06-30`.
    public var description: String { "\(Self.padded(year, to: 4))-\(Self.padded(month, to: 2))-\(Self.padded(day, to: 2))" }

    /// Returns whether the left day is earlier.
    public static func < (left: Self, right: Self) -> Bool { left.daysSince1970 < right.daysSince1970 }

    private var year: Int { civil.year }
    private var month: Int { civil.month }
    private var day: Int { civil.day }

    private var civil: (year: Int, month: Int, day: Int) {
        let days = daysSince1970 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
