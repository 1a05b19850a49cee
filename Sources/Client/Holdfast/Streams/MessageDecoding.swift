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

    /// What a codec makes of a payload.
    init(_ codec: any MessageCodec) where Value: Decodable {
        self.init(codec.name) { try codec.decode(Value.self, from: $0, $1) }
    }
}
