import Holdfast

/// What TLS showed.
struct SecurityView: Encodable, Hashable, Sendable {
    /// One certificate of the chain.
    struct Certificate: Encodable, Hashable, Sendable {
        let subject: String
        let issuer: String
        /// The names and addresses that it is for.
        let names: [String]
        /// Such as `2027-06-30`.
        let notBefore: String
        let notAfter: String
        /// Whole days that are left; negative once it has expired.
        let daysLeft: Int
        let key: String
        let signature: String
        let publicKeyPin: String
        let certificatePin: String
        let isSelfIssued: Bool
        /// What of it is too weak, in words.
        let weaknesses: [String]
    }

    /// Why the chain is not trusted.
    struct Distrust: Encodable, Hashable, Sendable {
        /// A code of `TransportError`, such as `certificateExpired`.
        let code: String
        let text: String
    }

    /// Such as `1.3`.
    var version: String?
    /// The server's own first.
    var chain: [Certificate] = []
    /// Whether it chooses HTTP/2 where that is offered besides HTTP/1.1.
    var choosesHTTP2 = false
    var distrust: Distrust?
    /// Whether anything is taken for trustworthy (`--insecure`).
    var isUnverified = false
    var handshakeMs: Double?
}

extension SecurityView.Certificate {
    /// - Parameter now: Seconds since 1970.
    init(_ certificate: ServerCertificate, now: Int64) {
        (subject, issuer, isSelfIssued) = (certificate.subject, certificate.issuer, certificate.isSelfIssued)
        names = certificate.dnsNames + certificate.addresses.map(\.writtenAddress)
        notBefore = "\(CalendarDate(secondsSince1970: certificate.notBefore))"
        notAfter = "\(CalendarDate(secondsSince1970: certificate.notAfter))"
        let seconds = certificate.notAfter - now
        daysLeft = Int(seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400)
        (key, signature) = ("\(certificate.keyKind)", certificate.signature)
        (publicKeyPin, certificatePin) = ("\(certificate.publicKeyPin)", "\(certificate.certificatePin)")
        var weaknesses: [String] = []
        if case .rsa(let bits) = certificate.keyKind, bits < 2048 { weaknesses.append("an RSA key of only \(bits) bits") }
        if certificate.isWeaklySigned { weaknesses.append("signed with \(certificate.signature), which can be forged") }
        self.weaknesses = weaknesses
    }
}

extension [UInt8] {
    /// An address of 4 or 16 bytes as people write it, without shortening.
    fileprivate var writtenAddress: String {
        if count == 4 { return map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: count - 1, by: 2).map { String(UInt16(self[$0]) << 8 | UInt16(self[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}
