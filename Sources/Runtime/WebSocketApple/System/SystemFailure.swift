package import WebSocketCore
package import WebSocketRuntime

/// An error of the system, as it says it: `NSError` without Foundation.
package struct SystemFailure: Error, Sendable {
    /// Whose numbers the codes are, such as `NSURLErrorDomain`.
    package let domain: String
    /// The number of the error.
    package let code: Int
    /// What the system says of it, for people.
    package let detail: String
    /// The server's answer, if it did not agree.
    package var response: ResponseHead?
    /// Why the server was not trusted, if that was ours to decide.
    package var verdict: TransportError?

    package init(domain: String, code: Int, detail: String) { (self.domain, self.code, self.detail) = (domain, code, detail) }

    /// Whether a message was larger than `maximumMessageSize`: EMSGSIZE.
    package var isMessageTooBig: Bool { domain == Self.posix && code == 40 }

    static let posix = "NSPOSIXErrorDomain"
    static let url = "NSURLErrorDomain"
}

extension TransportError {
    /// What a failure of the system means while connecting (`isOpening`) or afterwards.
    ///
    /// Sources: NSURLError.h (Foundation's URL loading system error codes), sys/errno.h of Darwin.
    package init(_ failure: SystemFailure, isOpening: Bool) {
        if let verdict = failure.verdict {
            self = verdict
            return
        }
        if isOpening, let response = failure.response, response.status != 101 {
            self.init(.refused, "the server answered \(response)", underlying: failure)
            self.response = response
            return
        }
        self.init(Self.code(of: failure, isOpening), "\(failure.detail) (\(failure.domain) \(failure.code))", underlying: failure)
    }

    private static func code(of failure: SystemFailure, _ isOpening: Bool) -> Code {
        switch (failure.domain, failure.code) {
        case (SystemFailure.url, -1003), (SystemFailure.url, -1006): .unresolved  // cannotFindHost, dnsLookupFailed
        // serverCertificateHasBadDate, …NotYetValid, …HasUnknownRoot; …Untrusted may be any of them, or a wrong host.
        case (SystemFailure.url, -1201), (SystemFailure.url, -1204): .certificateExpired
        case (SystemFailure.url, -1203): .unknownAuthority
        case (SystemFailure.url, -1205): .clientCertificateRefused  // clientCertificateRejected
        case (SystemFailure.url, -1206): .clientCertificateWanted  // clientCertificateRequired
        case (SystemFailure.url, -1202 ... -1200): .tls  // secureConnectionFailed, serverCertificateUntrusted
        // appTransportSecurityRequiresSecureConnection, badURL, unsupportedURL: no network can change that.
        case (SystemFailure.url, -1022), (SystemFailure.url, -1002), (SystemFailure.url, -1000): .invalidConfiguration
        case (SystemFailure.url, -1011) where isOpening: .invalidHandshake  // badServerResponse
        case (SystemFailure.url, -1001) where isOpening, (SystemFailure.posix, 60) where isOpening: .timedOut
        case _ where isOpening: .unreachable
        default: .lost
        }
    }
}
