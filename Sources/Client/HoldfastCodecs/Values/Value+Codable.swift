public import CodecCore
import Foundation

extension Value: Codable {
    /// Decodes any value from any decoder; from those of this library without loss.
    ///
    /// Some decoders, such as Foundation's for JSON, do not tell the type of a value. They are asked for one type after the other, so a
    /// whole number becomes an integer, even if it was written with a decimal point.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? BinaryDecoder {
            self = try decoder.decoding.value(from: decoder.start, decoder.level)
            return
        }
        if let fields = try? decoder.container(keyedBy: PathKey.self) {
            self = .map(
                ValueMap(
                    try fields.allKeys.map { key in
                        ValueMap.Entry(key: .text(key.stringValue), value: try fields.decode(Value.self, forKey: key))
                    }))
            return
        }
        if var list = try? decoder.unkeyedContainer() {
            var items: [Value] = []
            while !list.isAtEnd { items.append(try list.decode(Value.self)) }
            self = .array(items)
            return
        }
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self = .null
        } else if let value = try? single.decode(Bool.self) {
            self = .bool(value)
        } else if let number = try? single.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? single.decode(UInt64.self) {
            self = .unsigned(number)
        } else if let number = try? single.decode(Double.self) {
            self = .float(number)
        } else {
            self = .text(try single.decode(String.self))
        }
    }

    /// Encodes the value to any encoder; to those of this library without loss.
    ///
    /// Other encoders get bytes as `Data`, times as `Date`, and only the value of a tagged value.
    ///
    /// - Throws: `EncodingError` for what the other format cannot encode: an extension, and a key that is neither a text nor an integer.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? BinaryEncoder { return try encoder.encoding.write(dynamic: self, encoder.level) }
        switch self {
        case .array(let items):
            var list = encoder.unkeyedContainer()
            for item in items { try list.encode(item) }
        case .map(let map):
            var fields = encoder.container(keyedBy: PathKey.self)
            for entry in map { try fields.encode(entry.value, forKey: try key(entry.key, encoder)) }
        case .tagged(_, let value): try value.encode(to: encoder)
        default:
            var single = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try single.encode(value)
            case .integer(let number): try single.encode(number)
            case .unsigned(let number): try single.encode(number)
            case .float(let number): try single.encode(number)
            case .text(let text): try single.encode(text)
            case .bytes(let bytes): try single.encode(Data(bytes))
            case .timestamp(let time): try single.encode(time.date)
            case .extension: throw refusal("an extension", encoder)
            case .null, .array, .map, .tagged: try single.encodeNil()
            }
        }
    }

    private func key(_ key: Value, _ encoder: any Encoder) throws -> PathKey {
        if let text = key.string { return PathKey(stringValue: text) }
        if let number = key.int { return PathKey(intValue: number) }
        throw refusal("a key that is neither a text nor an integer", encoder)
    }

    private func refusal(_ what: String, _ encoder: any Encoder) -> EncodingError {
        .invalidValue(self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "the format cannot encode \(what)"))
    }
}

extension BinaryDecoding {
    /// Decodes the value at a position as dynamic data.
    func value(from start: Int, _ level: Int) throws -> Value {
        reader.move(to: start)
        do {
            let value = try reader.value(format, levels: options.limits.maximumDepth - prefix.count - level)
            readSingle(from: start)
            return value
        } catch { throw corrupt(level, error) }
    }
}

extension BinaryEncoding {
    func write(dynamic value: Value, _ level: Int) throws {
        do { try writer.value(value, format) } catch { throw fault(value, level, "\(error)", error) }
    }
}
