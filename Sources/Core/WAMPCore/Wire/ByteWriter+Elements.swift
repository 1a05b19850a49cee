import CodecCore

// The elements of a message. The number comes first, so in JSON a comma stands before each of the others.
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

    /// Appends the list and the dictionary, as far as they are needed: WAMP leaves out what is empty at the end.
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
    /// How many elements of a message they are.
    var elementCount: Int {
        switch storage {
        case .values(let list, let keywords): keywords.isEmpty ? list.isEmpty ? 0 : 1 : 2
        case .raw(let raw): raw.hasKeywords ? 2 : 1
        }
    }

    /// How many bytes they may well need.
    var sizeHint: Int {
        switch storage {
        case .values(let list, let keywords): 16 * (list.count + 2 * keywords.count)
        case .raw(let raw): raw.bytes.count
        }
    }
}
