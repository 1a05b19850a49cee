import CodecCore

/// The array that a value writes.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let encoding: BinaryEncoding
    let level: Int

    var codingPath: [any CodingKey] { encoding.path(level) }
    var count: Int { encoding.frames.count > level ? encoding.frames[level].items : 0 }

    private func begin() throws { try encoding.next(level) }

    mutating func encodeNil() throws {
        try begin()
        encoding.writer.null(encoding.format)
    }
    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try begin()
        try encoding.write(value, level + 1)
    }
    mutating func encode(_ value: Bool) throws {
        try begin()
        encoding.writer.bool(value, encoding.format)
    }
    mutating func encode(_ value: String) throws {
        try begin()
        try encoding.write(value, level + 1)
    }
    mutating func encode(_ value: Double) throws {
        try begin()
        encoding.writer.float(value, encoding.format)
    }
    mutating func encode(_ value: Float) throws {
        try begin()
        encoding.writer.float(Double(value), encoding.format)
    }
    mutating func encode(_ value: Int) throws {
        try begin()
        encoding.writer.signed(Int64(value), encoding.format)
    }
    mutating func encode(_ value: Int8) throws {
        try begin()
        encoding.writer.signed(Int64(value), encoding.format)
    }
    mutating func encode(_ value: Int16) throws {
        try begin()
        encoding.writer.signed(Int64(value), encoding.format)
    }
    mutating func encode(_ value: Int32) throws {
        try begin()
        encoding.writer.signed(Int64(value), encoding.format)
    }
    mutating func encode(_ value: Int64) throws {
        try begin()
        encoding.writer.signed(value, encoding.format)
    }
    mutating func encode(_ value: UInt) throws {
        try begin()
        encoding.writer.unsigned(UInt64(value), encoding.format)
    }
    mutating func encode(_ value: UInt8) throws {
        try begin()
        encoding.writer.unsigned(UInt64(value), encoding.format)
    }
    mutating func encode(_ value: UInt16) throws {
        try begin()
        encoding.writer.unsigned(UInt64(value), encoding.format)
    }
    mutating func encode(_ value: UInt32) throws {
        try begin()
        encoding.writer.unsigned(UInt64(value), encoding.format)
    }
    mutating func encode(_ value: UInt64) throws {
        try begin()
        encoding.writer.unsigned(value, encoding.format)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        superEncoder().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { encoding.child(at: level) { try encoding.next(level) } }
}
