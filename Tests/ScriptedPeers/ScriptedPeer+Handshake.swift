package import WebSocketCore

extension ScriptedPeer {
    /// Reads a request's head and accepts the upgrade with additional header fields; returns the head.
    ///
    /// - Parameter then: Bytes to send in the same piece.
    @discardableResult
    package func acceptUpgrade(_ headers: HeaderFields = [:], then bytes: [UInt8] = []) async throws -> RequestHead {
        let request = try await readRequest()
        try await send(try ResponseHead(status: 101, headers: Self.acceptance(of: request, headers)).encoded() + bytes)
        return request
    }

    /// The header fields of an answer that accepts a request.
    package static func acceptance(of request: RequestHead, _ headers: HeaderFields = [:]) -> HeaderFields {
        let key = request.headers["Sec-WebSocket-Key"].flatMap(WebSocketKey.init)
        var fields: HeaderFields = ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": key?.accept ?? ""]
        for field in headers { fields.add(field) }
        return fields
    }

    /// Sends an upgrade request and reads the head of the answer.
    @discardableResult
    package func upgrade(_ target: String = "/", headers: HeaderFields = [:]) async throws -> ResponseHead {
        try await send(Self.upgradeRequest(target, headers: headers))
        return try await readResponse()
    }

    /// The bytes of an upgrade request.
    package static func upgradeRequest(_ target: String = "/", headers: HeaderFields = [:]) throws -> [UInt8] {
        var fields: HeaderFields = [
            "Host": "127.0.0.1", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ]
        for field in headers { fields[field.name] = field.value }
        return try RequestHead(target: target, headers: fields).encoded()
    }

    /// Reads the head of a request.
    package func readRequest() async throws -> RequestHead { try await readHead() }

    /// Reads the head of a response.
    package func readResponse() async throws -> ResponseHead { try await readHead() }

    private func readHead<Head: MessageHead>() async throws -> Head {
        let bytes = Array(try await read(through: "\r\n\r\n").utf8)
        var parser = HeadParser<Head>(limit: 1 << 20)
        let head = try bytes.withUnsafeBytes { bytes in
            var bytes = bytes
            return try parser.parse(&bytes)
        }
        guard let head else { throw Ended() }
        return head
    }
}
