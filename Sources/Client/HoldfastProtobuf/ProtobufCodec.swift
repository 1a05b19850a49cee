import Foundation
import Holdfast
public import SwiftProtobuf
public import WebSocketCore

#if !Protobuf
    #error("HoldfastProtobuf needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Protobuf\"])")
#endif

/// Messages of Protocol Buffers as messages of a WebSocket.
///
/// It is no `MessageCodec`, for these messages are not `Codable`; `WebSocket` has a `send` and a `stream` that take one.
/// A binary message is read as the binary format and a text as the JSON mapping, whatever is written.
public struct ProtobufCodec: Sendable {
    /// How messages are written.
    public enum Form: Hashable, Sendable {
        /// The binary format, as a binary message.
        case binary
        /// The JSON mapping, as text.
        case json
    }

    /// What the format is called where both sides have to agree on it: `protobuf`, or `json` for the JSON mapping.
    public var name: String { form == .binary ? "protobuf" : "json" }
    private let form: Form

    /// A codec that writes messages in this form.
    public init(_ form: Form = .binary) { self.form = form }

    /// Makes the message that stands for a value.
    ///
    /// - Throws: SwiftProtobuf's error if a required field is missing, the message exceeds 2 GiB, or has no JSON mapping.
    public func encode(_ value: some SwiftProtobuf.Message) throws -> WebSocketCore.Message {
        switch form {
        case .binary: return .binary(try value.serializedBytes() as [UInt8])
        case .json:
            // SwiftProtobuf looks for required fields in the binary format only.
            guard value.isInitialized else { throw BinaryEncodingError.missingRequiredFields }
            return .text(try value.jsonString())
        }
    }

    /// Makes the value that a payload stands for, where it lies; fields that are not known are kept, in JSON ignored.
    ///
    /// - Throws: SwiftProtobuf's error if the payload is not of the format, holds more than 100 messages one within another, or lacks
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
                // Read only during the call, and nothing that is made refers to it.
                let lent = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
                return try Value(jsonUTF8Bytes: lent, options: options)
            }
            guard value.isInitialized else { throw BinaryDecodingError.missingRequiredFields }
            return value
        }
    }
}
