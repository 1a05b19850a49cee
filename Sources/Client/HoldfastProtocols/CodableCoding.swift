public import Holdfast
public import ProtocolCore
public import WebSocketCore

/// A coding for `Codable` messages, in JSON or with another codec.
///
/// ```swift
/// ProtocolClient(rules, over: socket) { _ in CodableCoding<BoardReply, BoardRequest>() }
/// ```
public struct CodableCoding<Received: Decodable & Sendable, Sent: Encodable & Sendable>: ProtocolCoding {
    private let codec: any MessageCodec
    private let ignoresUnknown: Bool

    /// Creates a coding.
    ///
    /// - Parameters:
    ///   - codec: Encodes and decodes the messages; by default JSON in text messages.
    ///   - ignoresUnknown: Whether messages that cannot be decoded are ignored, for servers that may later send more than this version
    ///     knows. If false, the rules get `undecodable`.
    public init(_ codec: any MessageCodec = JSONCodec(), ignoresUnknown: Bool = false) {
        (self.codec, self.ignoresUnknown) = (codec, ignoresUnknown)
    }

    /// Decodes a message of the peer with the codec.
    public func decode(_ message: Message) throws -> Received? {
        do { return try codec.decode(Received.self, from: message) } catch {
            if ignoresUnknown { return nil }
            throw error
        }
    }
    /// Encodes a message with the codec.
    public func encode(_ message: Sent) throws -> Message { try codec.encode(message) }
}
