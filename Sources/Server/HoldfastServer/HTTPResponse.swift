public import Holdfast
import WebSocketNIO

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
