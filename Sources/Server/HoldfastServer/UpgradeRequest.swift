public import Holdfast
import NIOCore
import WebSocketNIO

/// A client's request for a WebSocket.
public struct UpgradeRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The request as received.
    public let head: RequestHead
    /// The subprotocols offered, in the client's order of preference.
    public let subprotocols: [String]
    let peer: SocketAddress?

    init(_ head: RequestHead, subprotocols: [String]? = nil, from peer: SocketAddress?) {
        self.head = head
        self.subprotocols = subprotocols ?? head.headers.tokens("Sec-WebSocket-Protocol")
        self.peer = peer
    }

    /// The client's address and port, such as `127.0.0.1:51280`, if known; a client of a Unix domain socket has none.
    public var remoteAddress: String? { peer.map(\.endpoint).flatMap { $0.isEmpty ? nil : $0 } }

    /// The major version of HTTP used, 1 or 2.
    public var httpVersion: Int { head.majorVersion }
    /// The path, without the query.
    public var path: String { head.path }
    /// The part after the `?`, as received.
    public var query: String? { head.query }
    /// The header fields.
    public var headers: HeaderFields { head.headers }

    /// The request's first line, for logs.
    ///
    /// The query, header fields and subprotocols are omitted because they may contain secrets.
    public var description: String { head.description }

    /// A mirror of the request and the client's address.
    public var customMirror: Mirror { Mirror(self, children: ["head": head, "remoteAddress": remoteAddress as Any]) }
}

/// The decision on an ``UpgradeRequest``.
public enum UpgradeDecision: Sendable {
    /// Open the WebSocket, with one of the offered subprotocols or none, and with additional fields in the response.
    case accept(subprotocol: String? = nil, headers: HeaderFields = [:])
    /// Respond with an HTTP status instead, such as 401 or 404.
    case refuse(HTTPResponse)

    /// Open the WebSocket without a subprotocol.
    public static var accept: UpgradeDecision { .accept() }

    /// Responds with an HTTP status and a line of text instead.
    public static func refuse(status: Int, _ text: String = "") -> UpgradeDecision { .refuse(HTTPResponse(status: status, text: text)) }
}

/// A response to a plain HTTP request, with its complete body.
///
/// The server sets `Content-Length` and `Connection: close`.
public struct HTTPResponse: Hashable, Sendable {
    /// The status code, 200...599.
    public var status: Int
    /// The header fields.
    public var headers: HeaderFields
    /// The body; not sent in a response to HEAD.
    public var body: [UInt8]

    /// Creates a response.
    public init(status: Int, headers: HeaderFields = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// Creates a response with text.
    public init(status: Int, text: String, contentType: String = "text/plain; charset=utf-8") {
        self.init(status: status, headers: ["Content-Type": contentType], body: Array(text.utf8))
    }

    /// 404, the response to plain requests without a handler.
    public static let notFound = HTTPResponse(status: 404, text: "This server only accepts WebSockets.\n")

    var plain: ServerOptions.PlainResponse {
        ServerOptions.PlainResponse(head: ResponseHead(status: status, headers: headers), body: body)
    }
}
