public import Holdfast
public import SwiftProtobuf
import WebSocketCore

extension WebSocket {
    /// Sends a message of Protocol Buffers, as any other message.
    ///
    /// - Parameters:
    ///   - value: What to send.
    ///   - codec: How it is written; in the binary format by default.
    ///   - lane: What waits in a higher lane goes first.
    ///   - timeout: How long it may wait for a connection to take it; nil: as long as the policy says.
    /// - Throws: `WebSocketError` as for a message; `TransportError.Code.codec` if the value cannot be encoded.
    public func send<Value: SwiftProtobuf.Message>(
        _ value: Value, as codec: ProtobufCodec = ProtobufCodec(), lane: Lane = .normal, timeout: Duration? = nil
    ) async throws(WebSocketError) {
        let message: WebSocketCore.Message
        do { message = try codec.encode(value) } catch {
            throw WebSocketError(TransportError(.codec, "a \(Value.self) could not be encoded", underlying: error))
        }
        try await send(message, lane: lane, timeout: timeout)
    }

    /// What the peer sends, as messages of Protocol Buffers.
    ///
    /// A message that is none does not end it: it is told to all who follow `events` as `WebSocketEvent.undecodable`; to
    /// nobody, if nobody does. Bytes of another type may well be a message of this one, with fields that are not known. Ends as
    /// `messages` does.
    ///
    /// - Parameters:
    ///   - type: What the messages are.
    ///   - codec: Of which format they are, for those who look into them; both forms are read.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    public func stream<Value: SwiftProtobuf.Message>(
        of type: Value.Type, as codec: ProtobufCodec = ProtobufCodec(), delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        stream(by: MessageDecoding(codec.name) { try codec.decode(Value.self, from: $0, $1) }, delivery: delivery)
    }
}
