public import CodecCore
import Foundation
public import WebSocketCore

/// How payloads become values of one type: what a typed stream is made with where ``WebSocketOptions/codec`` is not what reads it.
///
/// ```swift
/// let ticks = MessageDecoding<Tick>("ticks") { bytes, kind in try Tick(parsing: bytes) }
/// for try await tick in socket.stream(by: ticks) { show(tick) }
/// ```
/// Two decodings to the same type with the same name are taken for the same: a message is then decoded once for both.
public struct MessageDecoding<Value: Sendable>: Sendable {
    /// Makes the value; the bytes, UTF-8 if it is text, are lent for the time of the call.
    public typealias Body = @Sendable (_ payload: RawSpan, _ kind: MessageKind) throws -> Value

    /// What the format is called; one that is called `json`, `msgpack` or `cbor` can be peeked into.
    public let name: String
    let decode: Body

    /// A decoding.
    ///
    /// - Parameters:
    ///   - name: What the format is called.
    ///   - decode: Makes the value; called from any task. What it throws is told as ``WebSocketEvent/undecodable(_:)``.
    public init(_ name: String, _ decode: @escaping Body) { (self.name, self.decode) = (name, decode) }

    /// What a codec makes of a payload; where text or bytes are wanted, the payload as it is.
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

/// Which messages concern a typed stream, told by a look at one field without decoding the rest; see <doc:Streams>.
public struct MessageFilter: Hashable, Sendable {
    let path: [String]
    let value: FieldValue
    let format: PayloadPeek.Format?

    /// Those with this text in a field.
    ///
    /// - Parameters:
    ///   - path: Where the field stands: keys from the outside in.
    ///   - text: What stands there.
    ///   - format: The format of the payloads; nil: what the codec's ``MessageCodec/name`` says.
    public static func field(_ path: String..., is text: String, format: PayloadPeek.Format? = nil) -> Self {
        Self(path: path, value: .text(text), format: format)
    }

    /// Those with this whole number in a field.
    ///
    /// - Parameters:
    ///   - path: Where the field stands: keys from the outside in.
    ///   - integer: What stands there.
    ///   - format: The format of the payloads; nil: what the codec's ``MessageCodec/name`` says.
    public static func field(_ path: String..., is integer: Int, format: PayloadPeek.Format? = nil) -> Self {
        Self(path: path, value: .integer(Int64(integer)), format: format)
    }
}

/// What stands in a field, if that is something to tell messages apart by.
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
    /// The format that is called so; nil for one that nobody here can peek into.
    init?(named name: String) {
        switch name {
        case "json": self = .json
        case "msgpack": self = .messagePack
        case "cbor": self = .cbor
        default: return nil
        }
    }
}
