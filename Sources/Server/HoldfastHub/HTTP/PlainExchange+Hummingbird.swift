import HTTPTypes
import Holdfast
import HoldfastServer
import Hummingbird
import HummingbirdCore
import NIOCore
import WebSocketNIO

/// Writes the body of an answer to where its request came from.
struct ExchangeWriter: ResponseBodyWriter {
    let exchange: PlainExchange

    mutating func write(_ buffer: ByteBuffer) async throws { try await exchange.write(buffer) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await exchange.end() }
}

/// Collects the body of a short answer.
private struct CollectingWriter: ResponseBodyWriter {
    final class Bytes { var all = ByteBuffer() }
    let bytes: Bytes

    mutating func write(_ buffer: ByteBuffer) async throws { bytes.all.writeImmutableBuffer(buffer) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension Request {
    /// The request that a head stands for; nil if it has several hosts, or none where it has to say one (RFC 9112 §3.2).
    init?(_ head: RequestHead, body: RequestBody) {
        let hosts = head.headers.values("Host")
        guard let method = HTTPRequest.Method(head.method), hosts.count == 1 || hosts.isEmpty && head.minorVersion == 0 else { return nil }
        var fields = HTTPFields()
        for field in head.headers {
            guard let name = HTTPField.Name(field.name), name.canonicalName != "host" else { continue }
            fields.append(HTTPField(name: name, value: field.value))
        }
        self.init(
            head: HTTPRequest(method: method, scheme: "http", authority: hosts.first, path: head.target, headerFields: fields), body: body)
    }
}

extension ResponseHead {
    init(_ response: HTTPTypes.HTTPResponse) {
        var fields = HeaderFields()
        for field in response.headerFields { fields.add(field.name.rawName, field.value) }
        self.init(status: response.status.code, reason: response.status.reasonPhrase, headers: fields)
    }
}

extension HoldfastServer.HTTPResponse {
    /// A short answer as a whole.
    init(_ response: Response) async {
        let (head, bytes) = (ResponseHead(response.head), CollectingWriter.Bytes())
        do {
            try await response.body.write(CollectingWriter(bytes: bytes))
            self.init(status: head.status, headers: head.headers, body: Array(bytes.all.readableBytesView))
        } catch {
            self.init(status: 500)
        }
    }
}
