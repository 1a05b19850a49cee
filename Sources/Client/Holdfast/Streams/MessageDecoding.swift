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
