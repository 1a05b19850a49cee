extension Diagnosis {
    /// From so many days on the end of a certificate is near.
    static let soon = 14

    static func tls(_ seen: Observations) -> [Finding] {
        guard let security = seen.security else {
            guard seen.upgrade != nil, seen.url.hasPrefix("ws:") else { return [] }
            return [
                Finding(
                    .tls, "none", .note, "nothing is encrypted",
                    advice: "use wss: wherever others are on the way; many proxies also break ws: and leave wss: alone")
            ]
        }
        return trust(security) + version(security) + expiry(security) + weaknesses(security)
    }

    private static func trust(_ security: SecurityView) -> [Finding] {
        if let distrust = security.distrust {
            let rest = security.chain.isEmpty ? "" : "; --insecure examines the rest all the same"
            return [
                Finding(
                    .tls, distrust.code, .broken, distrust.text, details: chain(security),
                    advice: advice(distrust.code) + rest)
            ]
        }
        let leaf = security.chain.first
        let names = leaf.map { $0.names.prefix(8).joined(separator: ", ") + ($0.names.count > 8 ? ", …" : "") } ?? "nobody known"
        if security.isUnverified {
            let text = "the chain was not checked (--insecure); it is for \(names)"
            return [Finding(.tls, "unverified", .warning, text, details: chain(security))]
        }
        return [Finding(.tls, "trusted", .good, "the certificate is trusted, and for \(names)", details: chain(security))]
    }

    private static func advice(_ code: String) -> String {
        switch code {
        case "certificateExpired": "renew the certificate on the server, and let that happen by itself from now on"
        case "wrongHost": "use a name that it is for, or get one for this name"
        case "unknownAuthority":
            "if the authority is yours, name it with --ca (TLSOptions.additionalRoots in an app); if it is public, send the whole chain"
        case "clientCertificateWanted": "the server wants to know who you are: TLSOptions.identity in an app; doctor cannot show any"
        default: "look whether TLS is spoken on this port, and in version 1.2 or later"
        }
    }

    private static func chain(_ security: SecurityView) -> [String] {
        security.chain.map { certificate in
            let name = certificate.subject.isEmpty ? "unnamed" : certificate.subject
            let issuer = certificate.isSelfIssued ? "itself" : certificate.issuer
            return "\(name), by \(issuer), \(certificate.notBefore) to \(certificate.notAfter), \(certificate.key), "
                + "\(certificate.signature), \(certificate.publicKeyPin)"
        }
    }

    private static func version(_ security: SecurityView) -> [Finding] {
        guard let version = security.version else { return [] }
        let http = security.choosesHTTP2 ? "the server would speak HTTP/2, too" : "the server does not choose HTTP/2 when it is offered"
        let time = security.handshakeMs.map { " in \($0.msPhrase)" } ?? ""
        if version == "1.3" { return [Finding(.tls, "version", .good, "TLS 1.3\(time)", details: [http])] }
        return [
            Finding(
                .tls, "version", .note, "TLS \(version)\(time): the server speaks no later version", details: [http],
                advice: "TLS 1.3 saves a round trip at each connection; switch it on if you can")
        ]
    }

    private static func expiry(_ security: SecurityView) -> [Finding] {
        guard security.distrust?.code != "certificateExpired", let first = security.chain.min(by: { $0.daysLeft < $1.daysLeft }) else {
            return []
        }
        let name = first == security.chain.first ? "the certificate" : "the chain's \(first.subject)"
        let words = first.daysLeft < 0 ? "\(name) expired on \(first.notAfter)" : "\(name) expires in \(first.daysLeft.counted("day"))"
        if first.daysLeft >= soon { return [Finding(.tls, "expiry", .good, words)] }
        return [Finding(.tls, "expiry", .warning, words, advice: "renew it now, and let that happen by itself from now on")]
    }

    private static func weaknesses(_ security: SecurityView) -> [Finding] {
        security.chain.filter { !$0.weaknesses.isEmpty }.map {
            Finding(
                .tls, "weak", .warning, "\($0.subject.isEmpty ? "a certificate" : $0.subject): \($0.weaknesses.joined(separator: ", "))",
                advice: "replace it: RSA of 2048 bits or P-256, signed with SHA-256")
        }
    }
}
