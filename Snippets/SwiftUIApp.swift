// A SwiftUI app: who keeps a socket, which view follows it, where the token is, how a chat is shown.
#if canImport(SwiftUI)
    import Holdfast
    import HoldfastRooms
    import HoldfastUI
    import SwiftUI

    // snippet.feed
    @MainActor @Observable final class Feed {
        private(set) var latest = "nothing yet"
        let connection: ConnectionModel
        private let socket = WebSocket("wss://example.com/feed") { $0 = .app }

        init() { connection = ConnectionModel(socket) }

        func follow() async throws {
            for try await message in socket.messages { latest = message.description }
        }
    }

    struct FeedScreen: View {
        let feed: Feed

        var body: some View {
            VStack {
                ConnectionBadge(feed.connection)
                Text(verbatim: feed.latest)
            }
            .task { try? await feed.follow() }
        }
    }
    // snippet.end

    // snippet.owner
    struct FeedApp: App {
        @State private var feed = Feed()

        var body: some Scene {
            WindowGroup { FeedScreen(feed: feed) }
        }
    }
    // snippet.end

    // snippet.chat
    struct LobbyScreen: View {
        let rooms: Rooms
        let names: [String: String]
        @State private var chat: ChatModel?

        var body: some View {
            Group {
                if let chat {
                    ChatView(chat, options: ChatOptions { user in names[user.text] })
                } else {
                    ProgressView()
                }
            }
            .task {
                guard chat == nil, let room = try? await rooms.join("lobby") else { return }
                chat = ChatModel(room)
            }
        }
    }
    // snippet.end

    // snippet.rooms
    func openRooms(in directory: URL, as keeper: TokenKeeper) throws -> Rooms {
        let store = try SQLiteRoomStore(path: directory.appendingPathComponent("rooms").path)
        return Rooms("wss://example.com/rooms", store: store) {
            try await keeper.token().secret
        } configure: {
            $0.followSystem()
        }
    }
    // snippet.end

    // snippet.keychain
    let store = KeychainTokenStore(service: "com.example.chat")
// snippet.end
#else
    import Holdfast

    let store = FileTokenStore(path: "token")
#endif

struct BackEnd {
    func token(for refresh: String?) async throws -> StoredToken { StoredToken("a token from your back end") }
}
let backEnd = BackEnd()

// snippet.keeper
let keeper = TokenKeeper(store) { old in try await backEnd.token(for: old.refresh) }
let socket = WebSocket("wss://example.com/feed") { options in
    options.followSystem()
    options.credentials = .bearer(keeper)
}
// snippet.end

// snippet.signing
try await keeper.signIn(StoredToken("token", refresh: "refresh token"))
try await keeper.signOut()
// snippet.end

await socket.close()
