import HoldfastRooms
import HoldfastUI
import SwiftUI

/// The lobby of the hub.
struct ChatScreen: View {
    let connections: Connections
    let signOut: () async -> Void
    @State private var chat: ChatModel?
    @State private var problem: String?

    var body: some View {
        NavigationStack {
            Group {
                if let chat {
                    ChatView(chat, options: ChatOptions { user in user.text.capitalized })
                } else if let problem {
                    Text(verbatim: problem)
                } else {
                    ProgressView()
                }
            }
            .navigationTitle("Chat")
            .toolbar { Button("Sign out") { Task { await signOut() } } }
        }
        // Ends when the tab is left for good, and begins again when it comes back; the model stays.
        .task {
            guard chat == nil else { return }
            do { chat = ChatModel(try await connections.rooms.join("lobby")) } catch { problem = "\(error)" }
        }
    }
}
