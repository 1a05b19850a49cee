// Ways to a server: proxies, Unix domain sockets, redirects.
import Holdfast

/// Listens to a feed for as long as it lasts.
func follow() async throws {
    // snippet.proxy
    var configuration = WebSocketConfiguration()
    configuration.proxy = .through(try Proxy("http://me:secret@proxy.example.com:3128"))
    // snippet.end

    // snippet.environment
    configuration.proxy = .environment
    // snippet.end

    // snippet.redirects
    configuration.redirects = RedirectPolicy(limit: 3, reach: .sameHost)
    // snippet.end

    // snippet.unix
    let url = try WebSocketURL(unixSocket: "/run/feed.sock", target: "/prices").string
    try await WebSocketConnection.withConnection(to: url, configuration: configuration) { connection in
        for try await message in connection.messages { print(message) }
    }
    // snippet.end
}

do { try await follow() } catch { print("closed: \(error)") }
