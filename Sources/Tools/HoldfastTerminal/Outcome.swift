package import Holdfast

/// The exit status of the tool, for scripts.
package enum Outcome: Int32, CaseIterable, Sendable {
    case clean = 0
    case failed = 1
    case lost = 2
    case refused = 3
    case unreachable = 4
    case tls = 5
    case closedWithError = 6
    case violation = 7
    case unanswered = 8
    case answeredWithError = 9
    case usage = 64
    case badInput = 65
    case interrupted = 130
    case terminated = 143

    package var meaning: String {
        switch self {
        case .clean: "closed cleanly (1000, 1001, or no code)"
        case .failed: "another error; see the message"
        case .lost: "the connection was lost, or ended without a close handshake"
        case .refused: "the server refused: an HTTP status other than 101, an invalid answer, or a realm"
        case .unreachable: "no connection: unknown name, refused port, or a timeout"
        case .tls: "TLS failed: the certificate is not trusted, or the handshake broke"
        case .closedWithError: "the peer closed with an error code (1002 to 1015, 3000 to 4999)"
        case .violation: "one side violated the protocol or a limit, and this side closed"
        case .unanswered: "no answer arrived in time"
        case .answeredWithError: "the answer was an error, from a procedure or from the router"
        case .usage: "wrong usage: a bad option, value or URL"
        case .badInput: "a line of standard input is not UTF-8, or a file is not JSON"
        case .interrupted: "stopped by SIGINT"
        case .terminated: "stopped by SIGTERM or SIGHUP"
        }
    }

    /// Returns the outcome of a finished close handshake.
    package init(closing record: CloseRecord) {
        let quiet: [CloseCode] = [.normal, .goingAway, .noStatus]
        if !record.isClean {
            self = .lost
        } else if record.closedFirst == .local {
            self = .clean
        } else {
            self = quiet.contains(record.received?.code ?? .noStatus) ? .clean : .closedWithError
        }
    }

    /// The table at the end of `--help`.
    package static var table: String {
        let rows = allCases.map { status in
            let number = String(status.rawValue)
            return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + status.meaning
        }
        return (["EXIT STATUS:"] + rows).joined(separator: "\n")
    }

    /// Returns the outcome of an error.
    package init(_ error: WebSocketError) {
        self =
            switch error.code {
            case .invalidURL, .invalidConfiguration: .usage
            case .unresolved, .unreachable, .timedOut: .unreachable
            case _ where WebSocketError.Code.trustFailures.contains(error.code): .tls
            case .refused, .invalidHandshake, .noSubprotocol: .refused
            case .protocolViolation: .violation
            case .closed: error.closeRecord.map(Outcome.init(closing:)) ?? .lost
            case .lost, .unresponsive, .stalled: .lost
            case .cancelled: .interrupted
            default: .failed
            }
    }
}
