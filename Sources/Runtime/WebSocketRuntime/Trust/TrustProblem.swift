package import WebSocketCore

/// Builds the error texts for untrusted servers, the same for every transport.
package struct TrustProblem: Sendable {
    /// The name of the server in errors.
    private let place: String
    /// The name that the certificate must match.
    private let name: String
    /// The supported features; advice mentions only these.
    private let features: Set<TLSFeature>

    package init(place: String, name: String, features: Set<TLSFeature> = Set(TLSFeature.allCases)) {
        (self.place, self.name, self.features) = (place, name, features)
    }

    package func wrongHost(_ leaf: ServerCertificate?, underlying: (any Error)? = nil) -> TransportError {
        let names = leaf?.quotedNames ?? []
        return failure(
            .wrongHost,
            "the certificate is for \(names.isEmpty ? "no host" : names.joined(separator: ", ")), not for \(name); connect by such a name, "
                + advice(.serverName, "set TLSOptions.serverName to it, ") + "or give the server a certificate for \(name)",
            underlying: underlying)
    }

    /// Returns the error for a certificate that no trusted authority has signed, or that is expired or not yet valid.
    package func untrusted(_ certificate: ServerCertificate, now: Int64, underlying: (any Error)? = nil) -> TransportError {
        if now > certificate.notAfter || now < certificate.notBefore {
            let isOld = now > certificate.notAfter
            let day = CalendarDate(secondsSince1970: isOld ? certificate.notAfter : certificate.notBefore)
            return failure(
                .certificateExpired,
                "the certificate of \(certificate) \(isOld ? "expired on" : "is not valid before") \(day), and this machine has "
                    + "\(CalendarDate(secondsSince1970: now)); \(isOld ? "renew it on the server, or " : "")set the clock right",
                underlying: underlying)
        }
        if certificate.isSelfIssued {
            return failure(
                .unknownAuthority,
                "\(certificate) is self-signed and not trusted; if it is yours, "
                    + "name it in TLSOptions.additionalRoots", underlying: underlying)
        }
        return failure(
            .unknownAuthority,
            "no trusted authority vouches for \(certificate); if \(certificate.quotedIssuer), which issued it, is yours, name its certificate "
                + "in TLSOptions.additionalRoots; if it is a public one, let the server send the whole chain", underlying: underlying)
    }

    package func pinMismatch(_ report: PinReport) -> TransportError {
        let hosts = report.set.hosts.joined(separator: ", ")
        if report.finding == .expired {
            return failure(
                .pinMismatch, "the pins for \(hosts) expired on \(report.set.expires.map { "\($0)" } ?? "an unknown day"); update the app")
        }
        let seen = report.chain.map { "\($0.publicKeyPin) (\($0))" }.joined(separator: ", ")
        return failure(
            .pinMismatch,
            "the chain has none of the pins for \(hosts), but \(seen.isEmpty ? "could not be read" : seen); the connection "
                + "may be intercepted; if the server's keys were changed on purpose, update the pins (holdfast pin)")
    }

    /// Returns the error for any other failure, with the words of the layer that found it.
    package func failure(_ code: TransportError.Code, _ words: String, underlying: (any Error)? = nil) -> TransportError {
        TransportError(code, "TLS with \(place) failed: \(words)", underlying: underlying)
    }

    private func advice(_ feature: TLSFeature, _ words: String) -> String { features.contains(feature) ? words : "" }
}

extension TransportError.Code {
    /// The server's certificate is for other hosts.
    public static let wrongHost = Self(description: "wrongHost")
    /// A certificate of the server's chain has expired, or is not valid yet.
    public static let certificateExpired = Self(description: "certificateExpired")
    /// No trusted authority has signed the server's certificate.
    public static let unknownAuthority = Self(description: "unknownAuthority")
    /// The server's chain has none of the pins that are enforced for the host.
    public static let pinMismatch = Self(description: "pinMismatch")
    /// The server asks for a client certificate, and none was configured.
    public static let clientCertificateWanted = Self(description: "clientCertificateWanted")
    /// The server did not accept the client certificate.
    public static let clientCertificateRefused = Self(description: "clientCertificateRefused")

    /// The codes for failures of TLS.
    package static let trustFailures: Set<Self> = [
        .tls, .wrongHost, .certificateExpired, .unknownAuthority, .pinMismatch, .clientCertificateWanted, .clientCertificateRefused,
    ]
}
