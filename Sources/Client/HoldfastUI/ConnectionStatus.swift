#if canImport(SwiftUI)
    public import SwiftUI
#endif

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

#if canImport(SwiftUI)
    /// A small badge with the connection state: connected, reconnecting in 3 s, offline.
    public struct ConnectionBadge: View {
        private let status: ConnectionStatus

        /// Creates a badge for `status`.
        public init(_ status: ConnectionStatus) { self.status = status }

        /// The content of the view.
        public var body: some View {
            HStack(spacing: 6) {
                Image(systemName: status.symbol).foregroundStyle(colour)
                Text(verbatim: Words.system.label(status))
            }
            .padding(6)
            .accessibilityElement(children: .combine)
        }

        private var colour: Color {
            switch status {
            case .connected: .green
            case .connecting, .reconnecting: .orange
            case .offline: .gray
            case .closed(let isFailure): isFailure ? .red : .gray
            }
        }
    }
#endif
