import GraphQLCore
import Holdfast
import WebSocketCore

/// Why an operation failed.
public struct GraphQLFailure: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The server answered with ``GraphQLFailure/errors`` and no data.
        public static let refused = Code("refused")
        /// The server closed the connection because of this operation.
        public static let rejected = Code("rejected")
        /// The server refuses the connection, for example because of the payload of `connection_init`.
        public static let connectionRefused = Code("connectionRefused")
        /// The connection was lost after a mutation was sent, which the server may have carried out.
        public static let outcomeUnknown = Code("outcomeUnknown")
        /// There was no answer in time.
        public static let timedOut = Code("timedOut")
        /// The task was cancelled.
        public static let cancelled = Code("cancelled")
        /// Too many operations run at once.
        public static let tooMany = Code("tooMany")
        /// The variables cannot be encoded, so nothing was sent.
        public static let unencodable = Code("unencodable")
        /// The data is not of the expected type.
        public static let undecodable = Code("undecodable")
        /// The client is closed, or its socket ended; ``GraphQLFailure/underlying`` says why.
        public static let closed = Code("closed")
    }

    /// The kind of the failure.
    public let code: Code
    /// The errors of the server, if it sent any.
    public let errors: [GraphQLError]
    /// Whether the server may have received the operation; if false, it had no effect.
    public let mayHaveArrived: Bool
    /// The error of the layer below: a `WebSocketError`, or one of the encoder or decoder.
    public let underlying: (any Error)?
    private let detail: String

    init(
        _ code: Code, detail: String = "", errors: [GraphQLError] = [], mayHaveArrived: Bool = false, underlying: (any Error)? = nil
    ) {
        (self.code, self.detail, self.errors, self.mayHaveArrived, self.underlying) = (code, detail, errors, mayHaveArrived, underlying)
    }

    /// Whether the same operation may succeed later, without a change by the app or the user.
    ///
    /// A mutation that may have arrived could take effect twice; see ``mayHaveArrived``.
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
        case .refused: "the server refused the operation: \(errors.first.map { "\($0)" } ?? "without an error")"
        case .rejected: "the server closed the connection because of the operation"
        case .connectionRefused: "the server refused the connection"
        case .outcomeUnknown: "the connection was lost before the answer to the mutation came"
        case .timedOut: "the operation was not answered in time\(mayHaveArrived ? "" : " because it could not be sent")"
        case .cancelled: "the operation was cancelled"
        case .tooMany: "too many operations run"
        case .unencodable: "the operation was not sent"
        case .undecodable: "the answer is not of the expected type"
        default: "the client is closed"
        }
    }
}

extension GraphQLFailure {
    init(of failure: GraphQLMachine.Failure) {
        switch failure {
        case .errors(let errors): self.init(.refused, errors: errors, mayHaveArrived: true)
        case .rejected(let close): self.init(.rejected, detail: close.reason, mayHaveArrived: true)
        case .refused(let reason): self.init(.connectionRefused, detail: reason)
        case .timedOut(let mayHaveArrived): self.init(.timedOut, mayHaveArrived: mayHaveArrived)
        case .lost: self.init(.outcomeUnknown, mayHaveArrived: true)
        case .tooMany: self.init(.tooMany)
        case .misfit: self.init(.undecodable, detail: "its parts do not fit together, or are too large", mayHaveArrived: true)
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
