package import WebSocketCore

/// Turns small messages into what travels at once, on the sender's thread, so that nothing of them has to wait as an object.
///
/// An ``OutboundQueue`` calls it under its lock.
package protocol OutboundEncoder: AnyObject, Sendable {
    /// Bytes that were encoded and not yet taken.
    var byteCount: Int { get }

    /// Encodes a message behind those before it; false if it is to wait as it is.
    func encode(_ message: Message) -> Bool

    /// Forgets what was encoded.
    func discard()
}
