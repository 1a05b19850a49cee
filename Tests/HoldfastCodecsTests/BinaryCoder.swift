import CodecCore
import Foundation
import HoldfastCodecs

/// The two binary formats, for tests of both.
enum BinaryCoder: CaseIterable, Sendable {
    case messagePack
    case cbor

    func encode<Value: Encodable>(_ value: Value, _ options: CodecOptions = CodecOptions()) throws -> [UInt8] {
        switch self {
        case .messagePack: try MessagePackEncoder(options: options).encode(value)
        case .cbor: try CBOREncoder(options: options).encode(value)
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8], _ options: CodecOptions = CodecOptions()) throws -> Value {
        switch self {
        case .messagePack: try MessagePackDecoder(options: options).decode(type, from: bytes)
        case .cbor: try CBORDecoder(options: options).decode(type, from: bytes)
        }
    }

    func decode<Target: Decodable>(_ type: Target.Type, value: Value, _ options: CodecOptions = CodecOptions()) throws -> Target {
        try decode(type, value.encoded(as: format), options)
    }

    func value(_ bytes: [UInt8]) throws -> Value { try bytes.withUnsafeBytes { try Value(decoding: $0.bytes, as: format) } }

    func roundTrip<Value: Codable>(_ value: Value, _ options: CodecOptions = CodecOptions()) throws -> Value {
        try decode(Value.self, encode(value, options), options)
    }

    var format: BinaryFormat { self == .cbor ? .cbor : .messagePack }
}
