import CodecCore

/// The map that a value writes.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: BinaryEncoding
    let level: Int

    var codingPath: [any CodingKey] { encoding.path(level) }

    func encodeNil(forKey key: Key) throws {
        try encoding.key(key, level)
        encoding.writer.null(encoding.format)
    }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try encoding.key(key, level)
        try encoding.write(value, level + 1)
    }
    func encode(_ value: Bool, forKey key: Key) throws {
        try encoding.key(key, level)
        encoding.writer.bool(value, encoding.format)
    }
    func encode(_ value: String, forKey key: Key) throws {
        try encoding.key(key, level)
        try encoding.write(value, level + 1)
    }
    func encode(_ value: Double, forKey key: Key) throws {
        try encoding.key(key, level)
        encoding.writer.float(value, encoding.format)
    }
    func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }
    func encode(_ value: Int, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int8, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int16, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int32, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
    func encode(_ value: Int64, forKey key: Key) throws {
        try encoding.key(key, level)
        encoding.writer.signed(value, encoding.format)
    }
    func encode(_ value: UInt, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
    func encode(_ value: UInt64, forKey key: Key) throws {
        try encoding.key(key, level)
        encoding.writer.unsigned(value, encoding.format)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        superEncoder(forKey: key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { superEncoder(forKey: key).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoding.child(at: level) { try encoding.key(PathKey.super, level) } }
    func superEncoder(forKey key: Key) -> any Encoder { encoding.child(at: level) { try encoding.key(key, level) } }
}
