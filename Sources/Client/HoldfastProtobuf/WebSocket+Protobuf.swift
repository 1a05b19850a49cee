public import Holdfast
public import SwiftProtobuf
import WebSocketCore

extension WebSocket {
    /// Sends a Protocol Buffers message in the same way as other messages.
    ///
    /// - Parameters:
    ///   - value: The message to send.
    ///   - codec: The codec; by default in the binary format.
    ///   - lane: The priority: waiting messages of a higher lane go first.
    ///   - timeout: How long the message may wait until a connection takes it; nil: as long as the policy says.
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

    /// Returns the messages of the peer as Protocol Buffers messages.
    ///
    /// A message that cannot be decoded does not end the stream: the consumers of `events`, if any, get
    /// `WebSocketEvent.undecodable`. Bytes of another type may still decode as this type, with unknown fields. The stream ends as
    /// `messages` does.
    ///
    /// - Parameters:
    ///   - type: The type of the messages.
    ///   - codec: The codec, which decodes both forms. Its name says in which format `latest(byField:)` looks for the field.
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    public func stream<Value: SwiftProtobuf.Message>(
        of type: Value.Type, as codec: ProtobufCodec = ProtobufCodec(), delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        stream(by: MessageDecoding(codec.name) { try codec.decode(Value.self, from: $0, $1) }, delivery: delivery)
    }
}
