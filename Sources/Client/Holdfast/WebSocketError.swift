import Foundation
import SessionCore
public import WebSocketCore
public import WebSocketRuntime

/// Why a WebSocket could not be opened, or ended other than in peace.
public struct WebSocketError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in one word.
    public typealias Code = TransportError.Code

    /// The error of the transport, with everything it knows.
    public let transport: TransportError

    /// Makes an error out of the transport's.
    public init(_ transport: TransportError) { self.transport = transport }

    /// What went wrong, in one word.
    public var code: Code { transport.code }
    /// The HTTP status, if the server refused the upgrade.
    public var httpStatus: Int? { transport.response?.status }
    /// The header fields, if the server refused the upgrade.
    public var responseHeaders: HeaderFields { transport.response?.headers ?? [:] }
    /// What the server wants to be shown, if it refused the upgrade with 401.
    public var challenges: [AuthenticationChallenge] { httpStatus == 401 ? AuthenticationChallenge.all(in: responseHeaders) : [] }
    /// The first bytes of the body, if the server refused the upgrade; see ``WebSocketLimits/refusalBody``.
    public var body: [UInt8] { transport.body }
    /// Both close codes and who closed first, if the connection had been open.
    public var closeRecord: CloseRecord? { transport.record }
    /// The error of the layer below: a ``ProtocolViolation``, a ``HandshakeFailure``, or one of TLS, the system or the app's provider.
    ///
    /// Of what was not sent or not answered it is the last ``WebSocketError`` of the connection, if there was none.
    public var underlying: (any Error)? { transport.underlying }

    /// Whether trying again may help without anybody changing anything.
    ///
    /// As `LossTable.standard` has it; a cancelled wait, and a send on what is closed, are nothing to repeat.
    public var isRetryable: Bool {
        switch code {
        case .cancelled, .noCredential, .tooLarge, .codec: false
        case .closed where closeRecord == nil: false
        default: LossTable.standard[LossCause(transport)] == .retry
        }
    }

    /// What failed, where, and whether it may be retried.
    ///
    /// It holds no secrets, unless the app's own provider of credentials has put one into the error that it threw.
    public var description: String { "\(words)\(isRetryable ? "; may be retried" : "")" }

    /// What failed and where; and what the provider of credentials said, if it was that.
    package var words: String {
        guard code == .noCredential, let underlying else { return transport.detail }
        return "\(transport.detail): \(Self.words(of: underlying))"
    }

    /// The app's error in its own words, at most 200 characters; of the system's errors what is meant for people, for the rest of them
    /// may hold a URL.
    private static func words(of error: any Error) -> String {
        let isForPeople = error is any LocalizedError || error is any CustomNSError || type(of: error) is NSError.Type
        let text = isForPeople ? error.localizedDescription : "\(error)"
        return text.count > 200 ? text.prefix(200) + "…" : text
    }
}
