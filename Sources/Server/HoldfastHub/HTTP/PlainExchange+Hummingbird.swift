import HTTPTypes
import Holdfast
import HoldfastServer
import Hummingbird
import HummingbirdCore
import NIOCore
import WebSocketNIO
import WebSocketRuntime

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

/// Counts the connections of plain HTTP, so that they always leave room for WebSockets, and those of one address for those of others.
final class GuestLimit: Sendable {
    /// A connection's place, taken until nobody holds it any more.
    final class Seat: Sendable {
        private let limit: GuestLimit
        private let address: String?

        fileprivate init(_ limit: GuestLimit, _ address: String?) { (self.limit, self.address) = (limit, address) }

        deinit { limit.leave(address) }
    }

    private let most: Int
    private let perAddress: Int
    private let guests = LockedValue<(count: Int, byAddress: [String: Int])>((0, [:]))

    /// At most so many in all, though always one, and so many of an address.
    init(most: Int, perAddress: Int) { (self.most, self.perAddress) = (max(most, 1), perAddress) }

    /// A seat for a connection; nil if there are too many.
    func seat(_ channel: any Channel) -> Seat? { seat(channel.remoteAddress?.network) }

    /// The same, for an address; a client of a Unix domain socket has none.
    func seat(_ address: String?) -> Seat? {
        let isFree = guests.withLockedValue { guests in
            guard guests.count < most, address.map({ guests.byAddress[$0, default: 0] < perAddress }) ?? true else { return false }
            guests.count += 1
            if let address { guests.byAddress[address, default: 0] += 1 }
            return true
        }
        return isFree ? Seat(self, address) : nil
    }

    private func leave(_ address: String?) {
        guests.withLockedValue { guests in
            guests.count -= 1
            guard let address else { return }
            let left = guests.byAddress[address, default: 1] - 1
            guests.byAddress[address] = left > 0 ? left : nil
        }
    }
}
