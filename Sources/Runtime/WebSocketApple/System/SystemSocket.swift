package import WebSocketCore
package import WebSocketRuntime

/// The part of the system's WebSocket that ``URLSessionTransport`` uses: `URLSessionWebSocketTask`, something else over `URLSession`, or a
/// stand-in in tests.
///
/// Closures are called on any thread.
package protocol SystemSocket: AnyObject, Sendable {
    /// Starts to connect; the events report the progress.
    func start(_ handle: @escaping @Sendable (SystemEvent) -> Void)

    /// Requests one message; each further message needs another call.
    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void)

    /// Sends a message; `done` is called when the system has accepted it.
    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void)

    /// Sends a ping; observed behaviour of the system: `done` is called once, twice, or never.
    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void)

    /// Sends a close frame, after which nothing can be sent; 1005 stands for a frame without a code.
    func close(code: Int, reason: [UInt8])

    /// Drops the link at once.
    func abort()
}

/// An event of the system's WebSocket.
package enum SystemEvent: Sendable {
    /// The opening handshake succeeded.
    case opened(Agreement)
    /// The peer's close frame arrived; 0 and 1005 stand for a frame without a code.
    case closed(code: Int, reason: [UInt8])
    /// The socket has ended, with nil for a regular end; always the last event.
    case ended(SystemFailure?)
}

/// The parameters of a connection of the system.
package struct SystemRequest: Sendable {
    /// `ws:` or `wss:`.
    package let url: String
    /// Additional header fields of the request, including subprotocols; the system adds those of the handshake.
    package let headers: HeaderFields
    /// The maximum size of a received message, in bytes.
    package let messageLimit: Int
    /// Verifies the server.
    package let trust: SystemTrust

    package init(url: String, headers: HeaderFields, messageLimit: Int, trust: SystemTrust) {
        (self.url, self.headers, self.messageLimit, self.trust) = (url, headers, messageLimit, trust)
    }
}

/// An error of the system: `NSError` without Foundation.
package struct SystemFailure: Error, Sendable {
    /// The domain of the error code, such as `NSURLErrorDomain`.
    package let domain: String
    /// The error code.
    package let code: Int
    /// The system's error message.
    package let detail: String
    /// The server's response, if it refused.
    package var response: ResponseHead?
    /// The reason why the server was not trusted, if this library decided that.
    package var verdict: TransportError?

    package init(domain: String, code: Int, detail: String) { (self.domain, self.code, self.detail) = (domain, code, detail) }

    /// Whether a message was larger than `maximumMessageSize`: EMSGSIZE.
    package var isMessageTooBig: Bool { domain == Self.posix && code == 40 }

    static let posix = "NSPOSIXErrorDomain"
    package static let url = "NSURLErrorDomain"
}

extension TransportError {
    /// Converts a failure of the system, while connecting (`isOpening`) or afterwards.
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
        // appTransportSecurityRequiresSecureConnection, badURL, unsupportedURL: a retry cannot help.
        case (SystemFailure.url, -1022), (SystemFailure.url, -1002), (SystemFailure.url, -1000): .invalidConfiguration
        case (SystemFailure.url, -1011) where isOpening: .invalidHandshake  // badServerResponse
        case (SystemFailure.url, -1001) where isOpening, (SystemFailure.posix, 60) where isOpening: .timedOut
        case _ where isOpening: .unreachable
        default: .lost
        }
    }
}
