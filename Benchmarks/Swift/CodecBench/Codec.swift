import Foundation
import HoldfastCodecs

/// The codecs that are compared.
enum Codec: String, CaseIterable {
    case messagePack = "ours-msgpack"
    case cbor = "ours-cbor"
    case foundation = "foundation-json"

    /// Encodes a value.
    ///
    /// The result stays the `Data` that Foundation makes, without a copy.
    func encoder<Value: Encodable>(_ type: Value.Type) -> (Value) throws -> Int {
        switch self {
        case .messagePack:
            let encoder = MessagePackEncoder()
            return { try encoder.encode($0).count }
        case .cbor:
            let encoder = CBOREncoder()
            return { try encoder.encode($0).count }
        case .foundation:
            let encoder = JSONEncoder()
            return { try encoder.encode($0).count }
        }
    }

    /// Decodes a value from bytes of the same codec.
    func decoder<Value: Codable>(of value: Value) throws -> () throws -> Value {
        switch self {
        case .messagePack:
            let (bytes, decoder) = (try MessagePackEncoder().encode(value), MessagePackDecoder())
            return { try decoder.decode(Value.self, from: bytes) }
        case .cbor:
            let (bytes, decoder) = (try CBOREncoder().encode(value), CBORDecoder())
            return { try decoder.decode(Value.self, from: bytes) }
        case .foundation:
            let (bytes, decoder) = (try JSONEncoder().encode(value), JSONDecoder())
            return { try decoder.decode(Value.self, from: bytes) }
        }
    }
}
