import SwiftUI

@main struct HoldfastChatApp: App {
    @State private var services = Services()

    var body: some Scene {
        WindowGroup { HomeScreen(services: services) }
    }
}

/// Three tabs once somebody has signed in.
struct HomeScreen: View {
    let services: Services

    var body: some View {
        Group {
            if let connections = services.connections {
                TabView {
                    ChatScreen(connections: connections, signOut: { await services.signOut() })
                        .tabItem { Label("Chat", systemImage: "bubble.left.and.bubble.right") }
                    QuotesScreen(board: connections.board)
                        .tabItem { Label("Quotes", systemImage: "chart.line.uptrend.xyaxis") }
                    InspectorScreen(sockets: connections.sockets)
                        .tabItem { Label("Connection", systemImage: "stethoscope") }
                }
            } else {
                SignInScreen(services: services)
            }
        }
        .task { await services.restore() }
    }
}
