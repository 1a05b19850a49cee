import MachineCore

/// The pins of some hosts, and what happens if a chain has none of them.
///
/// A set holds if any certificate of the verified chain has any of its pins. Include at least one backup: the pin of a key that is stored
/// offline, or of another authority. Without a backup, a lost key locks out every installed app. If several sets cover a host, each of them
/// must hold.
public struct PinSet: Hashable, Sendable {
    /// What happens if a chain has none of the pins.
    public enum Mode: Hashable, Sendable {
        /// The connection is refused before anything is sent.
        case enforce
        /// A report is made, and the connection relies on the certificate authorities.
        case reportOnly
    }

    /// What happens to a set after its expiry date.
    public enum AfterExpiry: Hashable, Sendable {
        /// The connection relies on the certificate authorities, as if there were no pins. Each connection reports this.
        case trustAuthorities
        /// As in `reportOnly`.
        case reportOnly
        /// No connection is made until the app has new pins. If the set has mode `reportOnly`, it is only reported.
        case refuse
    }

    /// The hosts: `example.com`; `*.example.com` for one more label; `**.example.com` for the domain and all below it.
    public var hosts: [String]
    /// The pins, including backups.
    public var pins: [Pin]
    /// What happens if a chain has none of the pins.
    public var mode: Mode
    /// The day, in UTC, from whose beginning the pins no longer count; nil if they never expire.
    public var expires: CalendarDate?
    /// What happens to the set after that.
    public var afterExpiry: AfterExpiry

    /// Creates a set.
    public init(
        _ hosts: String..., pins: [Pin], mode: Mode = .enforce, expires: CalendarDate? = nil, afterExpiry: AfterExpiry = .trustAuthorities
    ) {
        (self.hosts, self.pins, self.mode, self.expires, self.afterExpiry) = (hosts, pins, mode, expires, afterExpiry)
    }

    /// Returns whether the set applies to this host.
    public func covers(_ host: String) -> Bool { hosts.contains { Self.matches(Self.bare(host), Self.bare($0)) } }

    /// Why the set is invalid; nil if it is valid.
    package var problem: String? {
        if hosts.isEmpty { return "a pin set names no host" }
        if pins.isEmpty { return "the pin set for \(hosts.joined(separator: ", ")) has no pins, so nothing could match it" }
        for host in hosts {
            let name = Self.domain(Self.bare(host))
            guard !name.isEmpty, !name.contains("*"), !name.contains("/"), !name.contains("://") else {
                return "\(quoted(host)) is not a valid host of a pin set; write example.com, *.example.com or **.example.com"
            }
        }
        return nil
    }

    private static func matches(_ host: Substring, _ pattern: Substring) -> Bool {
        let domain = domain(pattern)
        if pattern.hasPrefix("**.") { return host == domain || host.hasSuffix("." + domain) }
        guard pattern.hasPrefix("*.") else { return host == pattern }
        return host.hasSuffix("." + domain) && !host.dropLast(domain.count + 1).contains(".") && host.count > domain.count + 1
    }

    private static func domain(_ pattern: Substring) -> Substring {
        pattern.hasPrefix("**.") ? pattern.dropFirst(3) : pattern.hasPrefix("*.") ? pattern.dropFirst(2) : pattern
    }

    /// Returns the name in lower case and without the dot of the root, which do not change the host.
    private static func bare(_ host: String) -> Substring {
        let name = HeaderSyntax.lowercased(host[...])
        return name.hasSuffix(".") ? name.dropLast() : name[...]
    }
}

/// The SHA-256 digest of a public key, or of a whole certificate, that a server's chain is expected to contain.
///
/// It is written as `sha256/` and Base64 for a key, as in OkHttp and RFC 7469, and as `cert-sha256/` for a certificate. Prefer the pin of a
/// key, because it stays valid when the certificate is renewed. `holdfast pin URL` prints the pins of a server.
public struct Pin: Hashable, Sendable, CustomStringConvertible {
    /// The subject of the digest.
    public enum Kind: Hashable, Sendable {
        /// The public key with its algorithm: SubjectPublicKeyInfo in DER.
        case publicKey
        /// The whole certificate in DER.
        case certificate
    }

    /// The error for a text that is not a pin.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong with it, and how a pin is written.
        public let description: String
    }

    /// The subject of the digest.
    public let kind: Kind
    /// The digest, 32 bytes.
    public let digest: [UInt8]

    /// Parses `sha256/…` or `cert-sha256/…`.
    public init(_ text: String) throws(Malformed) {
        guard let kind: Kind = text.hasPrefix(Self.keyPrefix) ? .publicKey : text.hasPrefix(Self.certificatePrefix) ? .certificate : nil,
            let digest = Base64.bytes(of: text.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst()), digest.count == 32
        else {
            throw Malformed(
                description: "\(quoted(text)) is not a pin; write sha256/ or cert-sha256/ and 44 characters of base64, as holdfast pin does"
            )
        }
        (self.kind, self.digest) = (kind, digest)
    }

    /// Creates the pin of a public key from SubjectPublicKeyInfo in DER.
    public init(publicKeyInfo: [UInt8]) { (kind, digest) = (.publicKey, SHA256.digest(publicKeyInfo)) }

    /// Creates the pin of a whole certificate in DER.
    public init(certificate der: [UInt8]) { (kind, digest) = (.certificate, SHA256.digest(der)) }

    /// The pin in the form that ``init(_:)`` parses.
    public var description: String { (kind == .publicKey ? Self.keyPrefix : Self.certificatePrefix) + Base64.text(digest) }

    /// Returns whether this certificate has the pin.
    public func matches(_ certificate: ServerCertificate) -> Bool {
        self == (kind == .publicKey ? certificate.publicKeyPin : certificate.certificatePin)
    }

    private static let (keyPrefix, certificatePrefix) = ("sha256/", "cert-sha256/")
}

/// A report on a pin set that did not hold, or has expired.
public struct PinReport: Hashable, Sendable {
    /// The result of the check.
    public enum Finding: Hashable, Sendable {
        /// No certificate of the verified chain has any of the pins.
        case mismatch
        /// The set has expired.
        case expired
    }

    /// The host of the connection.
    public let host: String
    /// The set.
    public let set: PinSet
    /// The result of the check.
    public let finding: Finding
    /// Whether the connection was refused because of it.
    public let isRefused: Bool
    /// The verified chain, the server's own certificate first.
    public let chain: [ServerCertificate]
}

extension [PinSet] {
    /// Returns the reports of these sets on a verified chain.
    ///
    /// `names` are the names of the host, `now` is in seconds since 1970.
    package func reports(on chain: [ServerCertificate], of names: [String], now: Int64) -> [PinReport] {
        compactMap { set in
            guard let host = names.first(where: { set.covers($0) }) else { return nil }
            let isExpired = set.expires.map { now >= $0.secondsSince1970 } ?? false
            let isMatched = set.pins.contains { pin in chain.contains { pin.matches($0) } }
            let isEnforced = set.mode == .enforce
            func report(_ finding: PinReport.Finding, isRefused: Bool) -> PinReport {
                PinReport(host: host, set: set, finding: finding, isRefused: isRefused, chain: chain)
            }
            guard isExpired else { return isMatched ? nil : report(.mismatch, isRefused: isEnforced) }
            switch set.afterExpiry {
            case .trustAuthorities: return report(.expired, isRefused: false)
            case .reportOnly: return isMatched ? nil : report(.mismatch, isRefused: false)
            case .refuse: return report(.expired, isRefused: isEnforced)
            }
        }
    }
}

/// SHA-256 (FIPS 180-4), for certificate pins.
enum SHA256 {
    static func digest(_ message: some Collection<UInt8>) -> [UInt8] {
        let padded = padded(message)
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        var words = [UInt32](repeating: 0, count: 64)
        for block in stride(from: 0, to: padded.count, by: 64) {
            expand(padded[block..<block + 64], into: &words)
            mix(words, into: &state)
        }
        return state.flatMap { word in stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) } }
    }

    /// Returns the message with a one bit, zeros, and the length in bits, so that it fills whole blocks.
    private static func padded(_ message: some Collection<UInt8>) -> [UInt8] {
        var bytes = Array(message)
        let length = UInt64(bytes.count) &* 8
        bytes.append(0x80)
        bytes += repeatElement(0, count: (120 - bytes.count % 64) % 64)
        bytes += stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: length >> $0) }
        return bytes
    }

    private static func expand(_ block: ArraySlice<UInt8>, into words: inout [UInt32]) {
        for t in 0..<16 {
            let start = block.startIndex + 4 * t
            words[t] = block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for t in 16..<64 {
            let (early, late) = (words[t - 15], words[t - 2])
            let first = rotated(early, by: 7) ^ rotated(early, by: 18) ^ early >> 3
            let second = rotated(late, by: 17) ^ rotated(late, by: 19) ^ late >> 10
            words[t] = words[t - 16] &+ first &+ words[t - 7] &+ second
        }
    }

    private static func mix(_ words: [UInt32], into state: inout [UInt32]) {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for t in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let first = h &+ (rotated(e, by: 6) ^ rotated(e, by: 11) ^ rotated(e, by: 25)) &+ choice &+ constants[t] &+ words[t]
            let second = (rotated(a, by: 2) ^ rotated(a, by: 13) ^ rotated(a, by: 22)) &+ majority
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ second)
        }
        for (place, word) in [a, b, c, d, e, f, g, h].enumerated() { state[place] &+= word }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
