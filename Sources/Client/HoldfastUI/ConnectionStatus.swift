/// The status of a connection to show to users.
public enum ConnectionStatus: Hashable, Sendable {
    /// An attempt is in progress.
    case connecting
    /// There is a connection.
    case connected
    /// The next attempt starts in this many seconds, at least 1.
    case reconnecting(seconds: Int)
    /// There is no network, or the app is in the background.
    case offline
    /// Closed, and no attempt follows; `isFailure` is true if the app did not choose to close.
    case closed(isFailure: Bool)

    /// The status as an English text.
    public var label: String {
        switch self {
        case .connecting: "connecting"
        case .connected: "connected"
        case .reconnecting(let seconds): "reconnecting in \(seconds) s"
        case .offline: "offline"
        case .closed(let isFailure): isFailure ? "connection failed" : "closed"
        }
    }

    /// The name of an SF Symbol for the status.
    public var symbol: String {
        switch self {
        case .connecting, .reconnecting: "arrow.triangle.2.circlepath"
        case .connected: "checkmark.circle.fill"
        case .offline: "wifi.slash"
        case .closed(let isFailure): isFailure ? "exclamationmark.triangle.fill" : "xmark.circle"
        }
    }
}
