public import Holdfast
import NIOCore
import WebSocketNIO

/// A client that asks for a WebSocket.
public struct UpgradeRequest: Sendable, CustomStringConvertible, CustomReflectable {
    /// The request as it came.
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

    /// The major version of the HTTP that it came by, 1 or 2.
    public var httpVersion: Int { head.majorVersion }
    /// The path, without the query.
    public var path: String { head.path }
    /// What follows the `?`, as it came.
    public var query: String? { head.query }
    /// The header fields.
    public var headers: HeaderFields { head.headers }

    /// The request's first line, for logs: no query, no header field and no subprotocol, for they may hold secrets.
    public var description: String { head.description }

    /// The request as it describes itself, and who sent it.
    public var customMirror: Mirror { Mirror(self, children: ["head": head, "remoteAddress": remoteAddress as Any]) }
}

/// What becomes of an ``UpgradeRequest``.
public enum UpgradeDecision: Sendable {
    /// Open the WebSocket, with one of the subprotocols offered, or none, and more fields in the answer.
    case accept(subprotocol: String? = nil, headers: HeaderFields = [:])
    /// Answer with an HTTP status instead, such as 401 or 404.
    case refuse(HTTPResponse)

    /// Open the WebSocket without a subprotocol.
    public static var accept: UpgradeDecision { .accept() }

    /// Answer with an HTTP status and a line of text instead.
    public static func refuse(status: Int, _ text: String = "") -> UpgradeDecision { .refuse(HTTPResponse(status: status, text: text)) }
}

/// An answer to a plain HTTP request, with its whole body.
///
/// The server sets `Content-Length` and `Connection: close`.
public struct HTTPResponse: Hashable, Sendable {
    /// The status code, 200...599.
    public var status: Int
    /// The header fields.
    public var headers: HeaderFields
    /// The body; not sent in answer to HEAD.
    public var body: [UInt8]

    /// Makes a response.
    public init(status: Int, headers: HeaderFields = [:], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    /// Makes a response with text.
    public init(status: Int, text: String, contentType: String = "text/plain; charset=utf-8") {
        self.init(status: status, headers: ["Content-Type": contentType], body: Array(text.utf8))
    }

    /// 404, what plain requests get unless there is a handler for them.
    public static let notFound = HTTPResponse(status: 404, text: "Here is a WebSocket, and nothing else.\n")

    var plain: ServerOptions.PlainResponse {
        ServerOptions.PlainResponse(head: ResponseHead(status: status, headers: headers), body: body)
    }
}
