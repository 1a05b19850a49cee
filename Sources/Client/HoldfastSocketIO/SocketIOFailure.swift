import Holdfast
public import SocketIOCore
import WebSocketCore

/// Why an event was not delivered, or why no more events come.
public struct SocketIOFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The server refuses the namespace; ``SocketIOFailure/refusal`` says why.
        public static let refused = Code("refused")
        /// The namespace was left, by the server or by ``SocketIOClient/disconnect()``.
        public static let disconnected = Code("disconnected")
        /// The connection was lost before the acknowledgement of an event that was sent.
        public static let outcomeUnknown = Code("outcomeUnknown")
        /// The event could not be sent, or was not acknowledged, in time.
        public static let timedOut = Code("timedOut")
        /// The task was cancelled.
        public static let cancelled = Code("cancelled")
        /// Too many events wait, or they take too many bytes.
        public static let tooMany = Code("tooMany")
        /// The event is larger than the server accepts.
        public static let tooLarge = Code("tooLarge")
        /// The arguments cannot be encoded, so nothing was sent.
        public static let unencodable = Code("unencodable")
        /// The arguments of the server are not of the expected types.
        public static let undecodable = Code("undecodable")
        /// The client is closed, or its socket ended; ``SocketIOFailure/underlying`` says why.
        public static let closed = Code("closed")
    }

    /// The kind of the failure.
    public let code: Code
    /// What the server said when it refused the namespace.
    public let refusal: SocketIORefusal?
    /// Whether the server may have received the event; if false, it had no effect.
    public let mayHaveArrived: Bool
    /// The error of the layer below: a `WebSocketError`, or one of the encoder or decoder.
    public let underlying: (any Error)?
    private let detail: String

    init(
        _ code: Code, detail: String = "", refusal: SocketIORefusal? = nil, mayHaveArrived: Bool = false, underlying: (any Error)? = nil
    ) {
        (self.code, self.detail, self.refusal) = (code, detail, refusal)
        (self.mayHaveArrived, self.underlying) = (mayHaveArrived, underlying)
    }

    /// Whether the same event may succeed later, without a change by the app or the user.
    ///
    /// An event that may have arrived could take effect twice; see ``mayHaveArrived``.
    public var isRetryable: Bool {
        switch code {
        case .outcomeUnknown, .timedOut, .tooMany: true
        case .closed: (underlying as? WebSocketError)?.isRetryable ?? false
        default: false
        }
    }

    /// A text that says what failed, and whether it may be retried.
    public var description: String {
        "\(words)\(detail.isEmpty ? "" : ": \(detail)")\(isRetryable ? "; may be retried" : "")"
    }

    private var words: String {
        switch code {
        case .refused: "the server refused the namespace: \(refusal?.message ?? "")"
        case .disconnected: "the namespace is disconnected"
        case .outcomeUnknown: "the connection was lost before the acknowledgement came"
        case .timedOut: mayHaveArrived ? "the event was not acknowledged in time" : "the event could not be sent in time"
        case .cancelled: "the wait was cancelled"
        case .tooMany: "too many events wait"
        case .tooLarge: "the event is larger than the server accepts"
        case .unencodable: "the event was not sent"
        case .undecodable: "the arguments are not of the expected types"
        default: "the client is closed"
        }
    }
}

extension SocketIOFailure {
    init(of failure: SocketIOMachine.Failure) {
        switch failure {
        case .timedOut(let mayHaveArrived): self.init(.timedOut, mayHaveArrived: mayHaveArrived)
        case .lost: self.init(.outcomeUnknown, mayHaveArrived: true)
        case .disconnected, .dropped: self.init(.disconnected)
        case .refused(let refusal): self.init(.refused, refusal: refusal)
        case .tooMany: self.init(.tooMany)
        case .tooLarge(let limit): self.init(.tooLarge, detail: "\(limit) bytes in a message")
        }
    }

    init(_ error: WebSocketError) {
        if error.code == .cancelled {
            self.init(.cancelled, mayHaveArrived: true)
        } else if error.code == .timedOut {
            self.init(.timedOut, detail: error.underlying.map { "\($0)" } ?? "", underlying: error.underlying ?? error)
        } else {
            self.init(.closed, detail: error.code == .closed ? "" : "\(error)", underlying: error)
        }
    }
}
