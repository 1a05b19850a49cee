import Foundation
import SessionCore
public import WebSocketCore
public import WebSocketRuntime

/// The error of a WebSocket that could not connect, or whose connection failed.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public typealias Code = TransportError.Code

    /// The error of the transport with all details.
    public let transport: TransportError

    /// Creates an error from an error of the transport.
    public init(_ transport: TransportError) { self.transport = transport }

    /// The kind of failure.
    public var code: Code { transport.code }
    /// The HTTP status, if the server refused the upgrade.
    public var httpStatus: Int? { transport.response?.status }
    /// The header fields, if the server refused the upgrade.
    public var responseHeaders: HeaderFields { transport.response?.headers ?? [:] }
    /// The authentication challenges of the server if it refused the upgrade with 401.
    public var challenges: [AuthenticationChallenge] { httpStatus == 401 ? AuthenticationChallenge.all(in: responseHeaders) : [] }
    /// The first bytes of the body, if the server refused the upgrade; see ``WebSocketLimits/refusalBody``.
    public var body: [UInt8] { transport.body }
    /// The close codes of both sides and which side closed first, if the connection was open.
    public var closeRecord: CloseRecord? { transport.record }
    /// The error of the layer below: a ``ProtocolViolation``, a ``HandshakeFailure``, or one of TLS, the system or the app's provider.
    ///
    /// If a message was not sent or a request not answered while there was no connection, this is the last ``WebSocketError`` of the connection.
    public var underlying: (any Error)? { transport.underlying }

    /// Whether another attempt may succeed without any change by the user or the app.
    ///
    /// Follows `LossTable.standard`. A cancelled wait and a send on a closed socket are not retryable.
    public var isRetryable: Bool {
        switch code {
        case .cancelled, .noCredential, .tooLarge, .codec: false
        case .closed where closeRecord == nil: false
        default: LossTable.standard[LossCause(transport)] == .retry
        }
    }

    /// A text that says what failed, where, and whether a retry may help.
    ///
    /// It contains no secrets, unless the app's credential provider threw an error that contains one.
    public var description: String { "\(words)\(isRetryable ? "; may be retried" : "")" }

    /// What failed and where, followed by the error of the credential provider if the provider failed.
    package var words: String {
        guard code == .noCredential, let underlying else { return transport.detail }
        return "\(transport.detail): \(Self.words(of: underlying))"
    }

    /// Returns the text of the app's error, at most 200 characters.
    ///
    /// For system errors it returns only the localized description, because the full text may contain a URL.
    private static func words(of error: any Error) -> String {
        let isForPeople = error is any LocalizedError || error is any CustomNSError || type(of: error) is NSError.Type
        let text = isForPeople ? error.localizedDescription : "\(error)"
        return text.count > 200 ? text.prefix(200) + "…" : text
    }
}
