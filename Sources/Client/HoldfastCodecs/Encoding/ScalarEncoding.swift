import CodecCore

/// What the containers without keys have in common: each scalar is written in its place.
protocol ScalarEncoding {
    var encoding: BinaryEncoding { get }
    /// The level of what is written.
    var valueLevel: Int { get }

    /// Makes ready for one more value.
    func begin() throws
}

extension ScalarEncoding {
    func encodeNil() throws {
        try begin()
        encoding.writer.null(encoding.format)
    }
    func encode<Value: Encodable>(_ value: Value) throws {
        try begin()
        try encoding.write(value, valueLevel)
    }
    func encode(_ value: Bool) throws {
        try begin()
        encoding.writer.bool(value, encoding.format)
    }
    func encode(_ value: String) throws {
        try begin()
        try encoding.write(value, valueLevel)
    }
    func encode(_ value: Double) throws {
        try begin()
        encoding.writer.float(value, encoding.format)
    }
    func encode(_ value: Float) throws { try encode(Double(value)) }
    func encode(_ value: Int) throws { try encode(Int64(value)) }
    func encode(_ value: Int8) throws { try encode(Int64(value)) }
    func encode(_ value: Int16) throws { try encode(Int64(value)) }
    func encode(_ value: Int32) throws { try encode(Int64(value)) }
    func encode(_ value: Int64) throws {
        try begin()
        encoding.writer.signed(value, encoding.format)
    }
    func encode(_ value: UInt) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt8) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt16) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt32) throws { try encode(UInt64(value)) }
    func encode(_ value: UInt64) throws {
        try begin()
        encoding.writer.unsigned(value, encoding.format)
    }
}
