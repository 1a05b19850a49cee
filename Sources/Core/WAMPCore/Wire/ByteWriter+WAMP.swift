import CodecCore
import MachineCore

// The elements of a message. The type comes first, so in JSON each other element starts with a comma.
extension ByteWriter {
    mutating func beginMessage(_ type: UInt64, elements: Int, _ serialization: WAMPSerialization) throws(CodecError) {
        if let format = serialization.binary {
            try array(elements, format)
            unsigned(type, format)
        } else {
            append(UInt8(ascii: "["))
            digits(type)
        }
    }

    mutating func endMessage(_ serialization: WAMPSerialization) {
        if serialization.isText { append(UInt8(ascii: "]")) }
    }

    mutating func element(_ number: UInt64, _ serialization: WAMPSerialization) {
        if let format = serialization.binary { return unsigned(number, format) }
        append(UInt8(ascii: ","))
        digits(number)
    }

    mutating func element(_ text: String, _ serialization: WAMPSerialization) throws(CodecError) {
        if let format = serialization.binary { return try self.text(text, format) }
        append(UInt8(ascii: ","))
        jsonText(text)
    }

    mutating func element(_ map: ValueMap, _ serialization: WAMPSerialization) throws(CodecError) {
        if serialization.isText { append(UInt8(ascii: ",")) }
        try wampMap(map, serialization)
    }

    /// Appends the list and the dictionary if needed: WAMP leaves out empty elements at the end.
    mutating func elements(_ arguments: WAMPArguments, _ serialization: WAMPSerialization) throws(CodecError) {
        if case .raw(let raw) = arguments.storage, raw.serialization == serialization {
            if serialization.isText { append(UInt8(ascii: ",")) }
            return append(all: raw.bytes)
        }
        let (list, keywords) = (try arguments.list, try arguments.keywords)
        if list.isEmpty && keywords.isEmpty { return }
        if serialization.isText { append(UInt8(ascii: ",")) }
        try wampList(list, serialization)
        if !keywords.isEmpty { try element(keywords, serialization) }
    }
}

extension WAMPArguments {
    /// The number of message elements for these arguments.
    var elementCount: Int {
        switch storage {
        case .values(let list, let keywords): keywords.isEmpty ? list.isEmpty ? 0 : 1 : 2
        case .raw(let raw): raw.hasKeywords ? 2 : 1
        }
    }

    /// The approximate number of bytes needed.
    var sizeHint: Int {
        switch storage {
        case .values(let list, let keywords): 16 * (list.count + 2 * keywords.count)
        case .raw(let raw): raw.bytes.count
        }
    }
}

// Every value is written: the message has its request number already, and a router passes on values of other serializations. A value that
// a serialization cannot represent is replaced by the closest one.
extension ByteWriter {
    mutating func wampValue(_ value: Value, _ serialization: WAMPSerialization) throws(CodecError) {
        switch value {
        case .array(let items): try wampList(items, serialization)
        case .map(let map): try wampMap(map, serialization)
        default:
            if let format = serialization.binary { return try binaryScalar(value, format, serialization) }
            try jsonScalar(value)
        }
    }

    mutating func wampList(_ list: [Value], _ serialization: WAMPSerialization) throws(CodecError) {
        if let format = serialization.binary {
            try array(list.count, format)
            for item in list { try wampValue(item, serialization) }
            return
        }
        append(UInt8(ascii: "["))
        for (place, item) in list.enumerated() {
            if place > 0 { append(UInt8(ascii: ",")) }
            try wampValue(item, serialization)
        }
        append(UInt8(ascii: "]"))
    }

    mutating func wampMap(_ map: ValueMap, _ serialization: WAMPSerialization) throws(CodecError) {
        if let format = serialization.binary {
            try self.map(map.count, format)
            for entry in map {
                try wampValue(entry.key, serialization)
                try wampValue(entry.value, serialization)
            }
            return
        }
        append(UInt8(ascii: "{"))
        for (place, entry) in map.enumerated() {
            if place > 0 { append(UInt8(ascii: ",")) }
            // Keys in JSON are texts.
            if case .text(let key) = entry.key { jsonText(key) } else { jsonText(entry.key.description) }
            append(UInt8(ascii: ":"))
            try wampValue(entry.value, serialization)
        }
        append(UInt8(ascii: "}"))
    }

    /// Writes a scalar; MessagePack has no tags, and CBOR has no extensions.
    private mutating func binaryScalar(_ value: Value, _ format: BinaryFormat, _ serialization: WAMPSerialization) throws(CodecError) {
        switch value {
        case .tagged(_, let inner) where serialization == .messagePack: try wampValue(inner, serialization)
        case .tagged(let tag, let inner):
            try self.tag(tag, format)
            try wampValue(inner, serialization)
        case .extension(_, let bytes) where serialization == .cbor: try self.value(.bytes(bytes), format)
        default: try self.value(value, format)
        }
    }

    private mutating func jsonScalar(_ value: Value) throws(CodecError) {
        switch value {
        case .bool(let value): plain(value ? "true" : "false")
        case .integer(let number):
            if number < 0 { append(UInt8(ascii: "-")) }
            digits(number.magnitude)
        case .unsigned(let number): digits(number)
        // JSON has no infinity and no NaN: write null, as JavaScript does.
        case .float(let number): plain(number.isFinite ? number.description : "null")
        case .text(let text): jsonText(text)
        case .bytes(let bytes), .extension(_, let bytes): jsonBytes(bytes)
        case .timestamp(let time): jsonText(time.description)
        case .tagged(_, let inner): try wampValue(inner, .json)
        case .null, .array, .map: plain("null")
        }
    }

    /// Appends bytes as a text: WAMP, "Binary conversion of JSON strings".
    private mutating func jsonBytes(_ bytes: [UInt8]) {
        plain("\"\\u0000")
        append(all: Base64.digits(bytes))
        append(UInt8(ascii: "\""))
    }
}
