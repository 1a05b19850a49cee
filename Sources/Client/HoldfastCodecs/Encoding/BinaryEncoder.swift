import CodecCore

/// The encoder of one value.
struct BinaryEncoder: Encoder {
    let encoding: BinaryEncoding
    /// The number of containers around the value.
    let level: Int

    var codingPath: [any CodingKey] { encoding.path(level) }
    var userInfo: [CodingUserInfoKey: Any] { encoding.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        encoding.open(level, isMap: true)
        return KeyedEncodingContainer(KeyedEncoding(encoding: encoding, level: level))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        encoding.open(level, isMap: false)
        return UnkeyedEncoding(encoding: encoding, level: level)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleEncoding(encoding: encoding, level: level, start: encoding.writer.count)
    }
}

extension BinaryEncoding {
    /// Returns the encoder of a child, after `begin` has written what precedes it.
    func child(at level: Int, _ begin: () throws -> Void) -> BinaryEncoder {
        do {
            try begin()
            return BinaryEncoder(encoding: child(level), level: 0)
        } catch {
            // The parent is invalid now, so the child writes to a separate encoding that is discarded.
            fail(error)
            return BinaryEncoder(encoding: BinaryEncoding(format, options, prefix: prefix), level: 0)
        }
    }
}

/// The encoding container for a map.
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

/// The encoding container for an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer, ScalarEncoding {
    let encoding: BinaryEncoding
    let level: Int

    var codingPath: [any CodingKey] { encoding.path(level) }
    var count: Int { encoding.frames.count > level ? encoding.frames[level].items : 0 }
    var valueLevel: Int { level + 1 }

    func begin() throws { try encoding.next(level) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        superEncoder().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { encoding.child(at: level) { try encoding.next(level) } }
}

/// The encoding container for a single value.
struct SingleEncoding: SingleValueEncodingContainer, ScalarEncoding {
    let encoding: BinaryEncoding
    let level: Int
    /// The number of bytes written before it.
    let start: Int

    var codingPath: [any CodingKey] { encoding.path(level) }
    var valueLevel: Int { level }

    func begin() throws {
        guard encoding.writer.count == start else { throw encoding.fault((), level, "a single value is encoded twice") }
    }
}

/// The common part of the containers without keys: each scalar is written in its place.
protocol ScalarEncoding {
    var encoding: BinaryEncoding { get }
    /// The level of the written values.
    var valueLevel: Int { get }

    /// Prepares for one more value.
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
