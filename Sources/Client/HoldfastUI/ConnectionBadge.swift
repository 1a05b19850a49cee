#if canImport(SwiftUI)
    public import SwiftUI

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
