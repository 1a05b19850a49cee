public import Holdfast
public import SocketIOCore
import WebSocketCore

/// How the packets of a connection travel.
public enum SocketIOTransport: String, CaseIterable, Sendable {
    /// Over a WebSocket from the start.
    case webSocket
    /// Over HTTP long polling, until a WebSocket takes over: for networks of which some block WebSockets.
    case pollingThenWebSocket
    /// Over HTTP long polling.
    case polling
}

/// The options of a ``SocketIOClient``; the defaults suit an app.
public struct SocketIOOptions: Sendable {
    /// The version of the protocol that the server speaks.
    public var version = SocketIOVersion.v5
    /// The path on the server, if the URL has none.
    public var path = "/socket.io/"
    /// How the packets travel.
    ///
    /// Long polling uses `URLSession`. It honours no proxy of `WebSocketConfiguration`, no cookie store and no redirects, and on Linux no
    /// `TLSOptions` either: an option that it cannot honour fails with `invalidConfiguration`.
    public var transport = SocketIOTransport.webSocket
    /// How long the server may take to accept the connection or a namespace.
    public var acknowledgementTimeout = Duration.seconds(20)
    /// How long an event waits for the connection and its acknowledgement, if ``SocketIOClient/emit(_:_:ack:within:)`` says nothing else.
    public var answerTimeout = Duration.seconds(30)
    /// How long the closure for the payload may take.
    public var payloadTimeout = Duration.seconds(8)
    /// How many times in a row a server may refuse a namespace before the client gives it up.
    ///
    /// Before each attempt the client asks for a new payload. Without a closure for the payload, the first refusal is final.
    public var refusals = 3
    /// How many events of a namespace may wait for the connection or an acknowledgement.
    public var waitingLimit = 10_000
    /// How many bytes these events may take.
    public var waitingBytes = 16 << 20
    /// The largest event of the server that is accepted, with its byte strings.
    public var messageLimit = 64 << 20

    /// Creates the default options.
    public init() {}

    /// Prepares the options of a socket for Socket.IO: when it reconnects, and how its packets travel.
    public func prepare(_ options: inout WebSocketOptions) {
        if transport != .webSocket {
            let (upgrades, version) = (transport == .pollingThenWebSocket, version)
            options.openConnection = { (url, configuration) async throws(WebSocketError) in
                try await EngineSocket.connect(to: url, configuration, upgrades: upgrades, version)
            }
        }
        // The first messages may carry a token, which must not go to another origin by a redirect.
        options.connection.redirectsStayInOrigin = true
        // A server also closes like this when it restarts.
        for code: CloseCode in [.normal, .noStatus] { options.reconnect.losses[.closed(code)] = .retry }
    }

    /// The URL of the WebSocket for a URL of the app, which may also begin with `http`.
    package func address(_ url: String) -> String {
        var text = Substring(url)
        var scheme = ""
        for (name, own) in [("https://", "wss://"), ("http://", "ws://"), ("wss://", "wss://"), ("ws://", "ws://")]
        where text.lowercased().hasPrefix(name) {
            (text, scheme) = (text.dropFirst(name.count), own)
            break
        }
        let end = text.firstIndex { "?#".contains($0) } ?? text.endIndex
        let query = text[end...].first == "?" ? text[end...].dropFirst() : ""
        let start = text[..<end].firstIndex(of: "/") ?? end
        let path = text[start..<end]
        let target = path.count > 1 ? String(path) : (self.path.hasPrefix("/") ? "" : "/") + self.path
        let rest = text[end...].first == "#" ? String(text[end...]) : ""
        return scheme + text[..<start] + target + "?EIO=\(version.engine)&transport=websocket" + (query.isEmpty ? "" : "&\(query)") + rest
    }

    func policy(seed: UInt64) -> SocketIOPolicy {
        var policy = SocketIOPolicy()
        policy.version = version
        (policy.acknowledgement, policy.refusals, policy.seed) = (acknowledgementTimeout, max(refusals, 1), seed)
        (policy.emitLimit, policy.emitBytes, policy.packetBytes) = (waitingLimit, waitingBytes, messageLimit)
        return policy
    }
}
