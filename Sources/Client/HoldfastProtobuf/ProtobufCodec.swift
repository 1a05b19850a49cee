import Foundation
public import Holdfast
public import SwiftProtobuf
public import WebSocketCore

#if !Protobuf
    #error("HoldfastProtobuf needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Protobuf\"])")
#endif

/// A codec for Protocol Buffers messages.
///
/// It is not a `MessageCodec`, because these messages are not `Codable`; `WebSocket` has a `send` and a `stream` that take one.
/// It decodes binary messages from the binary format and text messages from the JSON mapping, whichever form it encodes.
public struct ProtobufCodec: Sendable {
    /// The format of encoded messages.
    public enum Form: Hashable, Sendable {
        /// The binary format, as a binary message.
        case binary
        /// The JSON mapping, as text.
        case json
    }

    /// The name of the format where both sides have to agree on it: `protobuf`, or `json` for the JSON mapping.
    public var name: String { form == .binary ? "protobuf" : "json" }
    private let form: Form

    /// Creates a codec that encodes messages in this form.
    public init(_ form: Form = .binary) { self.form = form }

    /// Encodes a value as a message.
    ///
    /// - Throws: SwiftProtobuf's error if a required field is missing, the message exceeds 2 GiB, or has no JSON mapping.
    public func encode(_ value: some SwiftProtobuf.Message) throws -> WebSocketCore.Message {
        switch form {
        case .binary: return .binary(try value.serializedBytes() as [UInt8])
        case .json:
            // SwiftProtobuf checks required fields only in the binary format.
            guard value.isInitialized else { throw BinaryEncodingError.missingRequiredFields }
            return .text(try value.jsonString())
        }
    }

    /// Decodes a payload in place; unknown fields are kept in the binary format, and ignored in JSON.
    ///
    /// - Throws: SwiftProtobuf's error if the payload is not in the format, nests more than 100 messages, or lacks
    ///   a required field.
    public func decode<Value: SwiftProtobuf.Message>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        switch kind {
        case .binary:
            return try Value(serializedBytes: payload)
        case .text:
            var options = JSONDecodingOptions()
            options.ignoreUnknownFields = true
            let value = try payload.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return try Value(jsonUTF8Bytes: Data(), options: options) }
                // The bytes are read only during the call, and the result does not refer to them.
                let lent = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
                return try Value(jsonUTF8Bytes: lent, options: options)
            }
            guard value.isInitialized else { throw BinaryDecodingError.missingRequiredFields }
            return value
        }
    }
}

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
