// Ways to a server: proxies, Unix domain sockets, redirects.
import Holdfast

/// Puts cookies where they are safe until the app's next start.
func save(_ cookies: [Cookie]) {}

/// Signs in with what the server asks for.
func signedIn(_ login: Login) -> WebSocket {
    // snippet.challenge
    WebSocket("wss://example.com/feed") { options in
        options.credentials = .bearer { request in
            if request.challenge("basic") != nil { return .basic(user: login.user, password: login.password) }
            return Credential(try await login.token(isStale: request.challenge("bearer")?.error == "invalid_token"))
        }
    }
    // snippet.end
}

/// What the app knows of its user.
struct Login {
    let user: String
    let password: String

    func token(isStale: Bool) async throws -> String { isStale ? "a new one" : "the one at hand" }
}

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

    // snippet.cookies
    let cookies = CookieStore(CookieJar(domains: ["example.com"])) { store in save(store.jar.cookies) }
    configuration.cookies = cookies
    // snippet.end

    // snippet.unix
    let url = try WebSocketURL(unixSocket: "/run/feed.sock", target: "/prices").string
    try await WebSocketConnection.withConnection(to: url, configuration: configuration) { connection in
        for try await message in connection.messages { print(message) }
    }
    // snippet.end
}

_ = signedIn(Login(user: "me", password: "secret"))
do { try await follow() } catch { print("closed: \(error)") }
