import Holdfast
import HoldfastUI
import SwiftUI

/// What the connections are doing, and have done.
struct InspectorScreen: View {
    let sockets: [(name: String, socket: WebSocket)]

    var body: some View {
        NavigationStack {
            // What a socket has counted is asked for once a second, and only while this is in sight.
            TimelineView(.periodic(from: .now, by: 1)) { _ in
                List(sockets, id: \.name) { item in SocketSection(name: item.name, socket: item.socket) }
            }
            .navigationTitle("Connection")
        }
    }
}

/// One connection.
struct SocketSection: View {
    let name: String
    let socket: WebSocket

    var body: some View {
        let statistics = socket.statistics
        Section(name) {
            ConnectionBadge(ConnectionStatus(statistics.state, at: .now))
            row("Attempts", "\(statistics.attempts)")
            row("Connections", "\(statistics.connections)")
            row("Losses", "\(statistics.losses.values.reduce(0, +))")
            row("Bytes in and out", "\(statistics.traffic.bytesIn) / \(statistics.traffic.bytesOut)")
            row("Messages in and out", "\(statistics.traffic.messagesIn) / \(statistics.traffic.messagesOut)")
            row("Round trip, median", statistics.roundTrips.p50?.formatted() ?? "not known yet")
            Button("Try again now") { Task { await socket.reconnectNow() } }
        }
    }

    private func row(_ title: String, _ value: String) -> some View {
        HStack {
            Text(verbatim: title)
            Spacer()
            Text(verbatim: value).foregroundStyle(.secondary)
        }
        .accessibilityElement(children: .combine)
    }
}
