import HTTPTypes
import Holdfast
import HoldfastServer
import Hummingbird
import HummingbirdCore
import NIOCore
import WebSocketNIO
import WebSocketRuntime

/// Writes the body of a response to the connection of its request.
struct ExchangeWriter: ResponseBodyWriter {
    let exchange: PlainExchange

    mutating func write(_ buffer: ByteBuffer) async throws { try await exchange.write(buffer) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await exchange.end() }
}

/// Collects the body of a short response.
private struct CollectingWriter: ResponseBodyWriter {
    final class Bytes { var all = ByteBuffer() }
    let bytes: Bytes

    mutating func write(_ buffer: ByteBuffer) async throws { bytes.all.writeImmutableBuffer(buffer) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

extension Request {
    /// Creates the request of a head; nil if it has several hosts, or none although it needs one (RFC 9112 §3.2).
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
    /// Creates a short response as a whole.
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

/// Limits the connections of plain HTTP, in all and per address, so that there is always room for WebSockets and for other addresses.
final class GuestLimit: Sendable {
    /// The place of a connection, occupied until the permit is released.
    final class Permit: Sendable {
        private let limit: GuestLimit
        private let address: String?

        fileprivate init(_ limit: GuestLimit, _ address: String?) { (self.limit, self.address) = (limit, address) }

        deinit { limit.leave(address) }
    }

    private let most: Int
    private let perAddress: Int
    private let guests = LockedValue<(count: Int, byAddress: [String: Int])>((0, [:]))

    /// Creates a limit of so many connections in all, but always at least one, and so many per address.
    init(most: Int, perAddress: Int) { (self.most, self.perAddress) = (max(most, 1), perAddress) }

    /// Returns a permit for a connection; nil if there are too many.
    func permit(_ channel: any Channel) -> Permit? { permit(channel.remoteAddress?.network) }

    /// Returns a permit for an address; clients of a Unix domain socket have no address.
    func permit(_ address: String?) -> Permit? {
        let isFree = guests.withLockedValue { guests in
            guard guests.count < most, address.map({ guests.byAddress[$0, default: 0] < perAddress }) ?? true else { return false }
            guests.count += 1
            if let address { guests.byAddress[address, default: 0] += 1 }
            return true
        }
        return isFree ? Permit(self, address) : nil
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
