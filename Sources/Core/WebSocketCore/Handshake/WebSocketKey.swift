import MachineCore

/// A `Sec-WebSocket-Key`: base64 of the 16 random bytes that a client begins with (RFC 6455 §4.1).
public struct WebSocketKey: Hashable, Sendable {
    /// As in the header field, 24 characters.
    public let value: String

    /// Draws a new key.
    public init(using generator: inout some RandomNumberGenerator) {
        value = Base64.text((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Takes a key from a request; `nil` if it is not base64 of exactly 16 bytes.
    public init?(_ value: String) {
        // Bits left over in its last digit are not looked at.
        guard Base64.bytes(of: value.utf8, isCanonical: false)?.count == 16 else { return nil }
        self.value = value
    }

    /// The `Sec-WebSocket-Accept` that proves the server read this key as WebSocket (RFC 6455 §4.2.2).
    public var accept: String {
        Base64.text(SHA1.digest(Array((value + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}
