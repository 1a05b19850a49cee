package import CodecCore
import MachineCore

extension WAMPSerialization {
    /// The binary format; nil for JSON.
    var binary: BinaryFormat? {
        switch self {
        case .json: nil
        case .messagePack: .messagePack
        case .cbor: .cbor
        }
    }
}

extension ByteReader {
    /// Reads the next value; in JSON, texts that represent bytes become bytes.
    mutating func wampValue(_ serialization: WAMPSerialization, levels: Int) throws(CodecError) -> Value {
        if let format = serialization.binary { return try value(format, levels: levels) }
        let value = try jsonValue(levels: levels)
        return value.hasBytesAsText ? value.withBytesRestored : value
    }

    /// Skips the next value after checking that all of it is well-formed.
    mutating func checkWAMP(_ serialization: WAMPSerialization, levels: Int) throws(CodecError) {
        if let format = serialization.binary { return try checkValue(format, levels: levels) }
        try checkJSON(levels: levels)
    }

    /// Enters the next list or dictionary.
    mutating func wampItems(_ serialization: WAMPSerialization) throws(CodecError) -> ItemReader {
        let start = position
        guard let format = serialization.binary else {
            skipSpace()
            let isList = peek() == UInt8(ascii: "[")
            guard isList || peek() == UInt8(ascii: "{") else { throw unexpected }
            move(to: position + 1)
            return ItemReader(shape: .json(close: UInt8(ascii: isList ? "]" : "}")))
        }
        switch try head(format) {
        case .array(let count): return ItemReader(shape: .counted(count, isMap: false, format))
        case .map(let count): return ItemReader(shape: .counted(count, isMap: true, format))
        case .openArray: return ItemReader(shape: .open(isMap: false, format))
        case .openMap: return ItemReader(shape: .open(isMap: true, format))
        default: throw CodecError(.malformed, at: start)
        }
    }
}

/// Steps through the items of a list, or through the values of a dictionary, where it skips the keys.
struct ItemReader {
    enum Shape {
        case counted(Int, isMap: Bool, BinaryFormat)
        case open(isMap: Bool, BinaryFormat)
        case json(close: UInt8)
    }

    var shape: Shape
    private var isFirst = true

    init(shape: Shape) { self.shape = shape }

    /// Moves to the next item; returns whether there is one.
    mutating func next(_ reader: inout ByteReader) throws(CodecError) -> Bool {
        switch shape {
        case .counted(let left, let isMap, let format):
            guard left > 0 else { return false }
            shape = .counted(left - 1, isMap: isMap, format)
            if isMap { try reader.checkValue(format, levels: .max) }
        case .open(let isMap, let format):
            if reader.atStop {
                shape = .counted(0, isMap: isMap, format)
                return false
            }
            if isMap { try reader.checkValue(format, levels: .max) }
        case .json(let close):
            guard try reader.hasItem(before: close, isFirst: &isFirst) else {
                shape = .counted(0, isMap: false, .cbor)
                return false
            }
            guard close == UInt8(ascii: "}") else { return true }
            try reader.checkJSON(levels: 0)
            try reader.expect(UInt8(ascii: ":"))
        }
        return true
    }
}

// WAMP, "Binary conversion of JSON strings": bytes are a Base64 text after a character of code 0.
// A text that begins so and is not valid Base64 stays a text. Keys of dictionaries are always texts.
extension Value {
    /// Whether the value contains a text that represents bytes, or looks like it.
    var hasBytesAsText: Bool {
        switch self {
        case .text(let text): text.utf8.first == 0
        case .array(let items): items.contains(where: \.hasBytesAsText)
        case .map(let map): map.entries.contains(where: \.value.hasBytesAsText)
        default: false
        }
    }

    /// The value with such texts replaced by their bytes.
    package var withBytesRestored: Value {
        switch self {
        case .text(var text):
            guard text.utf8.first == 0 else { return self }
            let bytes = text.withUTF8 { unsafe Base64.bytes(of: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer($0).dropFirst())) }
            return bytes.map { .bytes($0) } ?? self
        case .array(let items): return .array(items.map(\.withBytesRestored))
        case .map(let map): return .map(ValueMap(map.map { ValueMap.Entry(key: $0.key, value: $0.value.withBytesRestored) }))
        default: return self
        }
    }
}
