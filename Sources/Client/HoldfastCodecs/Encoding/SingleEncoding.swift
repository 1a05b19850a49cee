import CodecCore

/// The one value that a value writes in its place.
struct SingleEncoding: SingleValueEncodingContainer {
    let encoding: BinaryEncoding
    let level: Int
    /// How much had been written before.
    let start: Int

    var codingPath: [any CodingKey] { encoding.path(level) }

    private func begin() throws {
        guard encoding.writer.count == start else { throw encoding.fault((), level, "one value is written twice") }
    }

    mutating func encodeNil() throws {
        try begin()
        encoding.writer.null(encoding.format)
    }
    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try begin()
        try encoding.write(value, level)
    }
    mutating func encode(_ value: Bool) throws {
        try begin()
        encoding.writer.bool(value, encoding.format)
    }
    mutating func encode(_ value: String) throws {
        try begin()
        try encoding.write(value, level)
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
}
