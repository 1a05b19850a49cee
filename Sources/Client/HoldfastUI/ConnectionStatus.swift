/// What people are told of a connection, in a few words.
public enum ConnectionStatus: Hashable, Sendable {
    /// An attempt is under way.
    case connecting
    /// There is a connection.
    case connected
    /// The next attempt starts in so many seconds, at least 1.
    case reconnecting(seconds: Int)
    /// There is no network, or the app is in the background.
    case offline
    /// Closed, and no attempt follows; `isFailure` if that was for a reason that the app did not choose.
    case closed(isFailure: Bool)

    /// The words, in English.
    public var label: String {
        switch self {
        case .connecting: "connecting"
        case .connected: "connected"
        case .reconnecting(let seconds): "reconnecting in \(seconds) s"
        case .offline: "offline"
        case .closed(let isFailure): isFailure ? "connection failed" : "closed"
        }
    }

    /// The name of an SF Symbol that says it.
    public var symbol: String {
        switch self {
        case .connecting, .reconnecting: "arrow.triangle.2.circlepath"
        case .connected: "checkmark.circle.fill"
        case .offline: "wifi.slash"
        case .closed(let isFailure): isFailure ? "exclamationmark.triangle.fill" : "xmark.circle"
        }
    }
}
