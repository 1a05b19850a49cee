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
