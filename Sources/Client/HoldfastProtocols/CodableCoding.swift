public import Holdfast
public import ProtocolCore
public import WebSocketCore

/// Messages that are `Codable`, in JSON or by another codec of yours.
///
/// ```swift
/// ProtocolClient(rules, over: socket) { _ in CodableCoding<BoardReply, BoardRequest>() }
/// ```
public struct CodableCoding<Received: Decodable & Sendable, Sent: Encodable & Sendable>: ProtocolCoding {
    private let codec: any MessageCodec
    private let ignoresUnknown: Bool

    /// A coding.
    ///
    /// - Parameters:
    ///   - codec: Reads and writes the messages; by default JSON in text messages.
    ///   - ignoresUnknown: Whether what cannot be decoded is left out, for a server may come to say more than this version knows. If not, the rules
    ///     hear `undecodable`.
    public init(_ codec: any MessageCodec = JSONCodec(), ignoresUnknown: Bool = false) {
        (self.codec, self.ignoresUnknown) = (codec, ignoresUnknown)
    }

    /// What the peer has sent, as the codec reads it.
    public func decode(_ message: Message) throws -> Received? {
        do { return try codec.decode(Received.self, from: message) } catch {
            if ignoresUnknown { return nil }
            throw error
        }
    }
    /// What to send, as the codec writes it.
    public func encode(_ message: Sent) throws -> Message { try codec.encode(message) }
}
