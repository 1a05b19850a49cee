import WebSocketCore

/// Shared fixtures of the handshake tests.
enum HandshakeFixtures {
    /// RFC 6455 §1.2 and §1.3.
    static let request = """
        GET /chat HTTP/1.1\r
        Host: server.example.com\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Origin: http://example.com\r
        Sec-WebSocket-Protocol: chat, superchat\r
        Sec-WebSocket-Version: 13\r
        \r\n
        """
    static let response = """
        HTTP/1.1 101 Switching Protocols\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
        Sec-WebSocket-Protocol: chat\r
        \r\n
        """

    /// Parses the pieces in order.
    ///
    /// Returns the head and the number of unread bytes in the last piece.
    static func parse<Head: MessageHead>(
        _: Head.Type, _ pieces: [[UInt8]], limit: Int = 16 * 1024
    ) throws(HandshakeFailure) -> (head: Head, rest: Int)? {
        var parser = HeadParser<Head>(limit: limit)
        for piece in pieces {
            let result: Result<(Head, Int)?, HandshakeFailure> = piece.withUnsafeBytes { bytes in
                var bytes = bytes
                return Result { () throws(HandshakeFailure) in try parser.parse(&bytes).map { ($0, bytes.count) } }
            }
            if let found = try result.get() { return found }
        }
        return nil
    }

    static func parse<Head: MessageHead>(_ type: Head.Type, _ text: String) throws(HandshakeFailure) -> Head? {
        try parse(type, [Array(text.utf8)])?.head
    }

    /// Runs the body and returns the failure that it throws.
    static func failure(_ body: () throws -> Void) -> HandshakeFailure? {
        do { try body() } catch { return error as? HandshakeFailure }
        return nil
    }
}

/// SplitMix64, which gives the same numbers in every run.
struct HandshakeSeed: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
