import Holdfast

/// Sends a request without `Host`, which HTTP/1.1 demands: whoever is first on the way refuses it in his own name.
enum MalformedProbe {
    static func run(_ errand: Errand) async throws -> MalformedView {
        let link = try await NIOConnector.bytes(errand.options)
        defer { link.close() }
        link.send(Array("GET \(errand.options.url.target) HTTP/1.1\r\n\r\n".utf8))
        let deadline = errand.deadline(min(errand.patience, .seconds(2)))
        var parser = HeadParser<ResponseHead>()
        while case .bytes(let bytes) = await link.next(within: deadline.remaining) {
            let head = bytes.withUnsafeBytes { bytes in
                var rest = bytes
                return Result { () throws(HandshakeFailure) in try parser.parse(&rest) }
            }
            guard let found = try head.get() else { continue }
            return MalformedView(status: found.status, server: found.headers["Server"])
        }
        return MalformedView()
    }
}
