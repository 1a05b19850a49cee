import CodecCore

extension FuzzTarget {
    static func messagePack(_ input: inout FuzzInput) throws { try value(input.rest, .messagePack) }
    static func cbor(_ input: inout FuzzInput) throws { try value(input.rest, .cbor) }
    static func json(_ input: inout FuzzInput) throws { try value(input.rest, .json) }

    /// A parsed value is written, and must be parsed to the same value.
    ///
    /// A peek must find its parts.
    private static func value(_ bytes: UnsafeRawBufferPointer, _ format: PayloadPeek.Format) throws {
        // No input may trap.
        _ = PayloadPeek(format, "a").string(in: bytes.bytes)
        _ = PayloadPeek(format, "a", "b").double(in: bytes.bytes)
        _ = PayloadPeek(format).integer(in: bytes.bytes)
        guard let value = try? Value(bytes.bytes, format) else { return }
        let written = try value.written(as: format)
        let again = try written.withUnsafeBytes { try Value($0.bytes, format) }
        // Bytes are compared instead of values, because NaN is not equal to itself.
        try expectEqual(try again.written(as: format), written, "the written value differs when read: \(value)")
        for other in [PayloadPeek.Format.json, .messagePack, .cbor] { _ = try? value.written(as: other) }
        _ = value.description
        try written.withUnsafeBytes { try peek(format, [], at: value, in: $0) }
        // A CBOR text may have pieces, and a peek does not find it then.
        if format != .cbor { try peek(format, [], at: value, in: bytes) }
    }

    /// Peeks for the first texts, numbers and maps of a map, and within those.
    private static func peek(_ format: PayloadPeek.Format, _ path: [String], at value: Value, in bytes: UnsafeRawBufferPointer) throws {
        try found(PayloadPeek(format, path: path), value, in: bytes)
        guard path.count < 3, let entries = value.entries else { return }
        var seen: Set<[UInt8]> = []
        for entry in entries.prefix(8) {
            // A peek finds the first value of a key.
            guard let key = entry.key.string, seen.insert(Array(key.utf8)).inserted else { continue }
            try peek(format, path + [key], at: entry.value, in: bytes)
        }
        let missing = "no such key"
        guard entries.count <= 8, !seen.contains(Array(missing.utf8)) else { return }
        let peek = PayloadPeek(format, path: path + [missing])
        try expect(peek.string(in: bytes.bytes) == nil && peek.double(in: bytes.bytes) == nil, "a missing key was found")
    }

    private static func found(_ peek: PayloadPeek, _ value: Value, in bytes: UnsafeRawBufferPointer) throws {
        let (text, number) = (peek.string(in: bytes.bytes), peek.double(in: bytes.bytes))
        try expect(text.map { Array($0.utf8) } == value.string.map { Array($0.utf8) }, "\(peek.path): \(text as Any) for \(value)")
        // NaN is not equal to itself.
        let areSame = number == value.double || number?.isNaN == true && value.double?.isNaN == true
        try expect(areSame, "\(peek.path): \(number as Any) for \(value)")
        try expect(peek.integer(in: bytes.bytes) == value.int.map(Int64.init), "\(peek.path): another integer than \(value)")
        if let text { try expect(peek.contains(text, in: bytes.bytes), "\(peek.path): \(text) is found but missing") }
    }
}

extension Value {
    fileprivate init(_ bytes: RawSpan, _ format: PayloadPeek.Format) throws(CodecError) {
        switch format {
        case .json: try self.init(json: bytes)
        case .messagePack: try self.init(decoding: bytes, as: .messagePack)
        case .cbor: try self.init(decoding: bytes, as: .cbor)
        }
    }

    fileprivate func written(as format: PayloadPeek.Format) throws(CodecError) -> [UInt8] {
        switch format {
        case .json: try json()
        case .messagePack: try encoded(as: .messagePack)
        case .cbor: try encoded(as: .cbor)
        }
    }
}
