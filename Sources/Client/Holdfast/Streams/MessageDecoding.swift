public import CodecCore
import Foundation
public import WebSocketCore

/// Decodes payloads into values of one type, for a typed stream that does not use ``WebSocketOptions/codec``.
///
/// ```swift
/// let ticks = MessageDecoding<Tick>("ticks") { bytes, kind in try Tick(parsing: bytes) }
/// for try await tick in socket.stream(by: ticks) { show(tick) }
/// ```
/// Two decodings with the same type and the same name count as the same: a message is then decoded once for both.
public struct MessageDecoding<Value: Sendable>: Sendable {
    /// Returns the value; the bytes, UTF-8 for text, are valid only during the call.
    public typealias Body = @Sendable (_ payload: RawSpan, _ kind: MessageKind) throws -> Value

    /// The name of the format; Holdfast can peek into `json`, `msgpack` and `cbor`.
    public let name: String
    let decode: Body

    /// Creates a decoding.
    ///
    /// - Parameters:
    ///   - name: The name of the format.
    ///   - decode: Returns the value; called from any task. Its errors are reported as ``WebSocketEvent/undecodable(_:)``.
    public init(_ name: String, _ decode: @escaping Body) { (self.name, self.decode) = (name, decode) }

    /// Creates the decoding of a codec; for text and bytes, a decoding that returns the payload unchanged.
    init(_ codec: any MessageCodec) where Value: Decodable {
        switch Value.self {
        case is String.Type: self.init(codec.name) { payload, _ in try Self.same(try Self.text(payload)) }
        case is Data.Type: self.init(codec.name) { payload, _ in try Self.same(payload.withUnsafeBytes { Data($0) }) }
        case is [UInt8].Type: self.init(codec.name) { payload, _ in try Self.same(payload.withUnsafeBytes { [UInt8]($0) }) }
        default: self.init(codec.name) { try codec.decode(Value.self, from: $0, $1) }
        }
    }

    private static func text(_ payload: RawSpan) throws -> String {
        guard let text = payload.withUnsafeBytes({ String(bytes: $0, encoding: .utf8) }) else { throw CocoaError(.coderReadCorrupt) }
        return text
    }

    private static func same(_ payload: some Sendable) throws -> Value {
        guard let value = payload as? Value else { throw CocoaError(.coderReadCorrupt) }
        return value
    }
}

/// Selects messages for a typed stream by one field, without decoding the rest; see <doc:Streams>.
public struct MessageFilter: Hashable, Sendable {
    let path: [String]
    let value: FieldValue
    let format: PayloadPeek.Format?

    /// Selects messages with this text in a field.
    ///
    /// - Parameters:
    ///   - path: The path of the field: keys from the outside in.
    ///   - text: The value of the field.
    ///   - format: The format of the payloads; nil: what the codec's ``MessageCodec/name`` says.
    public static func field(_ path: String..., is text: String, format: PayloadPeek.Format? = nil) -> Self {
        Self(path: path, value: .text(text), format: format)
    }

    /// Selects messages with this whole number in a field.
    ///
    /// - Parameters:
    ///   - path: The path of the field: keys from the outside in.
    ///   - integer: The value of the field.
    ///   - format: The format of the payloads; nil: what the codec's ``MessageCodec/name`` says.
    public static func field(_ path: String..., is integer: Int, format: PayloadPeek.Format? = nil) -> Self {
        Self(path: path, value: .integer(Int64(integer)), format: format)
    }
}

/// The value of a field, if it is of a type that can distinguish messages.
enum FieldValue: Hashable, Sendable {
    case text(String)
    case integer(Int64)

    init?(_ peek: PayloadPeek, in payload: RawSpan) {
        if let text = peek.string(in: payload) {
            self = .text(text)
        } else if let integer = peek.integer(in: payload) {
            self = .integer(integer)
        } else {
            return nil
        }
    }
}

extension PayloadPeek.Format {
    /// Creates the format with this name; nil if Holdfast cannot peek into the format.
    init?(named name: String) {
        switch name {
        case "json": self = .json
        case "msgpack": self = .messagePack
        case "cbor": self = .cbor
        default: return nil
        }
    }
}
