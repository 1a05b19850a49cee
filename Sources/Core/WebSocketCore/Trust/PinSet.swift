import MachineCore

/// The pins of some hosts, and what a chain without any of them means.
///
/// A set holds if any certificate of the verified chain has any of its pins. Give at least one backup: the pin of a key that lies in
/// a safe, or of another authority; without it a lost key locks every installed app out. If several sets cover a host, each must hold.
public struct PinSet: Hashable, Sendable {
    /// What a chain without any of the pins means.
    public enum Mode: Hashable, Sendable {
        /// The connection is refused, before anything was sent.
        case enforce
        /// It is reported, and the authorities' word is taken.
        case reportOnly
    }

    /// What becomes of a set whose day has come.
    public enum AfterExpiry: Hashable, Sendable {
        /// The authorities' word is taken, as if there were no pins; each connection reports that.
        case trustAuthorities
        /// As in `reportOnly`.
        case reportOnly
        /// No connection is made until the app has new pins. In a set of mode `reportOnly` it is only reported.
        case refuse
    }

    /// The hosts: `example.com`; `*.example.com` for one more label; `**.example.com` for the domain and all below it.
    public var hosts: [String]
    /// The pins, backups among them.
    public var pins: [Pin]
    /// What a chain without any of the pins means.
    public var mode: Mode
    /// The day, in UTC, from whose beginning on the pins no longer count; nil: they always do.
    public var expires: CalendarDate?
    /// What becomes of the set then.
    public var afterExpiry: AfterExpiry

    /// Makes a set.
    public init(
        _ hosts: String..., pins: [Pin], mode: Mode = .enforce, expires: CalendarDate? = nil, afterExpiry: AfterExpiry = .trustAuthorities
    ) {
        (self.hosts, self.pins, self.mode, self.expires, self.afterExpiry) = (hosts, pins, mode, expires, afterExpiry)
    }

    /// Whether it says something about this host.
    public func covers(_ host: String) -> Bool { hosts.contains { Self.matches(Self.bare(host), Self.bare($0)) } }

    /// Why it cannot be used; nil: it can.
    package var problem: String? {
        if hosts.isEmpty { return "a pin set names no host" }
        if pins.isEmpty { return "the pin set for \(hosts.joined(separator: ", ")) has no pins, so nothing could match it" }
        for host in hosts {
            let name = Self.domain(Self.bare(host))
            guard !name.isEmpty, !name.contains("*"), !name.contains("/"), !name.contains("://") else {
                return "\(quoted(host)) is no host of a pin set; write example.com, *.example.com or **.example.com"
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

    /// In lower case and without the dot that stands for the root: neither makes another host of it.
    private static func bare(_ host: String) -> Substring {
        let name = HeaderSyntax.lowercased(host[...])
        return name.hasSuffix(".") ? name.dropLast() : name[...]
    }
}

/// The SHA-256 digest of a public key, or of a whole certificate, that a server's chain is expected to have.
///
/// Written as `sha256/` and base64 for a key, as OkHttp and RFC 7469 have it, and as `cert-sha256/` for a certificate. A key's pin
/// outlives the renewal of its certificate, so it is the one to prefer. `holdfast pin URL` prints those of a server.
public struct Pin: Hashable, Sendable, CustomStringConvertible {
    /// What the digest is of.
    public enum Kind: Hashable, Sendable {
        /// The public key with its algorithm: SubjectPublicKeyInfo in DER.
        case publicKey
        /// The whole certificate in DER.
        case certificate
    }

    /// A text is not a pin.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong with it, and how a pin is written.
        public let description: String
    }

    /// What the digest is of.
    public let kind: Kind
    /// 32 bytes.
    public let digest: [UInt8]

    /// Reads `sha256/…` or `cert-sha256/…`.
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

    /// The pin of a public key, given as SubjectPublicKeyInfo in DER.
    public init(publicKeyInfo: [UInt8]) { (kind, digest) = (.publicKey, SHA256.digest(publicKeyInfo)) }

    /// The pin of a whole certificate, given in DER.
    public init(certificate der: [UInt8]) { (kind, digest) = (.certificate, SHA256.digest(der)) }

    /// As it is read.
    public var description: String { (kind == .publicKey ? Self.keyPrefix : Self.certificatePrefix) + Base64.text(digest) }

    /// Whether this certificate has it.
    public func matches(_ certificate: ServerCertificate) -> Bool {
        self == (kind == .publicKey ? certificate.publicKeyPin : certificate.certificatePin)
    }

    private static let (keyPrefix, certificatePrefix) = ("sha256/", "cert-sha256/")
}

/// A pin set that did not hold, or whose day had come.
public struct PinReport: Hashable, Sendable {
    /// What was found.
    public enum Finding: Hashable, Sendable {
        /// No certificate of the verified chain has any of the pins.
        case mismatch
        /// The set's day has come.
        case expired
    }

    /// The host that the connection was for.
    public let host: String
    /// The set.
    public let set: PinSet
    /// What was found.
    public let finding: Finding
    /// Whether the connection was refused for it.
    public let isRefused: Bool
    /// The verified chain, the server's own certificate first.
    public let chain: [ServerCertificate]
}

extension [PinSet] {
    /// What these sets have to report about a verified chain; `names` are those the host goes by, `now` is in seconds since 1970.
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
