import Foundation
import Holdfast
import HoldfastQuotes
import HoldfastRooms
import HoldfastUI
import Observation

/// What lives as long as the app: the user's token, and the connections of whoever is signed in.
@MainActor @Observable final class Services {
    private(set) var connections: Connections?
    private(set) var problem: String?
    /// Where `holdfast serve hub --dev` listens on port 9001, and `holdfast serve quotes` on 9002.
    var host = "127.0.0.1"
    private let keeper = TokenKeeper(KeychainTokenStore(service: "dev.holdfast.chat"))

    /// Signs in whoever was signed in when the app last ran.
    func restore() async {
        guard connections == nil, let token = try? await keeper.token() else { return }
        open(as: token)
    }

    /// Signs in with a name, which `holdfast serve hub --dev` takes for a token.
    func signIn(_ name: String) async {
        let token = StoredToken("dev:\(name)", refresh: host)
        do {
            try await keeper.signIn(token)
            open(as: token)
        } catch {
            problem = "\(error)"
        }
    }

    /// Closes all connections, and forgets the token.
    func signOut() async {
        await connections?.close()
        connections = nil
        do { try await keeper.signOut() } catch { problem = "\(error)" }
    }

    private func open(as token: StoredToken) {
        if let host = token.refresh { self.host = host }
        do {
            connections = try Connections(host: host, user: token.secret, keeper)
            problem = nil
        } catch {
            problem = "\(error)"
        }
    }
}

/// The connections of one user: they stay open whichever tab is in sight, and close when the app is in the background.
@MainActor final class Connections {
    let rooms: Rooms
    let board: QuoteBoard
    private let feed: QuoteFeed

    init(host: String, user: String, _ keeper: TokenKeeper) throws {
        let support = try FileManager.default.url(for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        // A store belongs to one user, whose name may hold what no file's may.
        let name = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "nobody"
        let directory = support.appendingPathComponent("rooms-of-\(name)")
        rooms = Rooms("ws://\(host):9001/rooms", store: try SQLiteRoomStore(path: directory.path)) {
            try await keeper.token().secret
        } configure: {
            $0.followSystem()
        }
        feed = QuoteFeed("ws://\(host):9002/feed") { $0.followSystem() }
        board = QuoteBoard(feed)
    }

    /// What the inspector shows, by name.
    var sockets: [(name: String, socket: WebSocket)] { [("Rooms", rooms.socket), ("Quotes", feed.socket)] }

    func close() async {
        await rooms.close()
        await feed.close()
    }
}
