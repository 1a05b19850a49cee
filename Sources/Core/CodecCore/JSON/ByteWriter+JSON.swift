extension ByteWriter {
    /// Reads a JSON value and appends it in a binary format; accepts exactly what `jsonValue(levels:)` accepts.
    ///
    /// No value is created in between, so it costs little more than a check of the JSON.
    package mutating func value(ofJSON reader: inout ByteReader, _ format: BinaryFormat, levels: Int) throws(CodecError) {
        reader.skipSpace()
        let start = reader.position
        switch reader.peek() {
        case UInt8(ascii: "\""):
            reader.position &+= 1
            try text(ofJSON: &reader, format)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
            let isMap = try reader.byte() == UInt8(ascii: "{")
            let place = open()
            var (items, isFirst) = (0, true)
            while try reader.hasItem(before: UInt8(ascii: isMap ? "}" : "]"), isFirst: &isFirst) {
                if isMap {
                    try reader.expect(UInt8(ascii: "\""))
                    try text(ofJSON: &reader, format)
                    try reader.expect(UInt8(ascii: ":"))
                }
                try value(ofJSON: &reader, format, levels: levels &- 1)
                items += 1
            }
            try close(at: place, items: items, isMap: isMap, format)
        case UInt8(ascii: "n"):
            try reader.expect("null")
            null(format)
        default:
            if let value = try reader.jsonBool() { return bool(value, format) }
            switch try reader.jsonNumber() {
            case .unsigned(let number): unsigned(number, format)
            case .negative(let number): signed(number, format)
            case .float(let number): float(number, format)
            }
        }
    }

    private mutating func text(ofJSON reader: inout ByteReader, _ format: BinaryFormat) throws(CodecError) {
        let text = try reader.jsonText()
        if text.hasEscapes { return try self.text(try reader.string(of: text), format) }
        try reader.check(text)
        unsafe try self.text(reader.bytes(from: text.start, to: text.end), format)
    }
}
