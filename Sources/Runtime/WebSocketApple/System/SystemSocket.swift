package import WebSocketCore
package import WebSocketRuntime

/// The part of the system's WebSocket that ``URLSessionTransport`` uses: `URLSessionWebSocketTask`, or a test's stand-in for it.
///
/// Closures are called on any thread.
package protocol SystemSocket: AnyObject, Sendable {
    /// Starts to connect; the events tell how it goes.
    func start(_ hear: @escaping @Sendable (SystemEvent) -> Void)

    /// Asks for one message; for the next it has to be asked again.
    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void)

    /// Sends a message; `done` is called when the system has taken it.
    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void)

    /// Sends a ping. The system has been seen to call `done` once, twice, and never.
    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void)

    /// Sends a close frame; nothing can be sent from then on. 1005 stands for a frame without a code.
    func close(code: Int, reason: [UInt8])

    /// Drops the link at once.
    func abort()
}

/// What the system tells of a WebSocket without being asked.
package enum SystemEvent: Sendable {
    /// The server has agreed.
    case opened(Agreement)
    /// The peer's close frame came; 0 and 1005 stand for one without a code.
    case closed(code: Int, reason: [UInt8])
    /// It is over: with nil in peace. Always the last event.
    case ended(SystemFailure?)
}

/// What the system is asked to connect to.
package struct SystemRequest: Sendable {
    /// `ws:` or `wss:`.
    package let url: String
    /// More fields of the request, subprotocols included; those of the handshake are the system's.
    package let headers: HeaderFields
    /// The largest message taken, in bytes.
    package let messageLimit: Int
    /// Who judges the server.
    package let trust: SystemTrust

    package init(url: String, headers: HeaderFields, messageLimit: Int, trust: SystemTrust) {
        (self.url, self.headers, self.messageLimit, self.trust) = (url, headers, messageLimit, trust)
    }
}

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
