import CodecCore

/// The map that a value is read from.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoding: BinaryDecoding
    /// Where the map begins.
    let start: Int
    let level: Int

    var codingPath: [any CodingKey] { decoding.path(level) }
    var allKeys: [Key] {
        decoding.keys(start, level).compactMap { key in
            key.intValue.flatMap { Key(intValue: $0) } ?? Key(stringValue: key.stringValue)
        }
    }

    func contains(_ key: Key) -> Bool { (try? decoding.find(key, start, level)) ?? false }

    private func find(_ key: Key) throws {
        guard try decoding.find(key, start, level) else { throw decoding.missing(key, level) }
    }

    /// Goes to the value of a key; false if there is none, or null.
    private func findValue(_ key: Key) throws -> Bool {
        guard try decoding.find(key, start, level) else { return false }
        guard decoding.takeNull() else { return true }
        decoding.passed(level)
        return false
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        try find(key)
        guard decoding.takeNull() else { return false }
        decoding.passed(level)
        return true
    }

    @inline(__always)
    private func take<Value>(_ key: Key, _ read: () throws -> Value) throws -> Value {
        try find(key)
        let value = try read()
        decoding.passed(level)
        return value
    }
    @inline(__always)
    private func takeIfPresent<Value>(_ key: Key, _ read: () throws -> Value) throws -> Value? {
        guard try findValue(key) else { return nil }
        let value = try read()
        decoding.passed(level)
        return value
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try take(key) { try decoding.read(type, from: decoding.reader.position, level + 1) }
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try takeIfPresent(key) { try decoding.read(type, from: decoding.reader.position, level + 1) }
    }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try take(key) { try decoding.bool(level + 1) } }
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try takeIfPresent(key) { try decoding.bool(level + 1) } }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try take(key) { try decoding.string(level + 1) } }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try takeIfPresent(key) { try decoding.string(level + 1) }
    }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try take(key) { try decoding.double(level + 1) } }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try takeIfPresent(key) { try decoding.double(level + 1) }
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try take(key) { try decoding.float(level + 1) } }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try takeIfPresent(key) { try decoding.float(level + 1) } }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try take(key) { try decoding.integer(Int.self, level + 1) } }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try takeIfPresent(key) { try decoding.integer(Int.self, level + 1) }
    }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try take(key) { try decoding.integer(Int8.self, level + 1) } }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try takeIfPresent(key) { try decoding.integer(Int8.self, level + 1) }
    }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try take(key) { try decoding.integer(Int16.self, level + 1) } }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try takeIfPresent(key) { try decoding.integer(Int16.self, level + 1) }
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try take(key) { try decoding.integer(Int32.self, level + 1) } }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try takeIfPresent(key) { try decoding.integer(Int32.self, level + 1) }
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try take(key) { try decoding.integer(Int64.self, level + 1) } }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try takeIfPresent(key) { try decoding.integer(Int64.self, level + 1) }
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try take(key) { try decoding.integer(UInt.self, level + 1) } }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try takeIfPresent(key) { try decoding.integer(UInt.self, level + 1) }
    }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try take(key) { try decoding.integer(UInt8.self, level + 1) } }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try takeIfPresent(key) { try decoding.integer(UInt8.self, level + 1) }
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try take(key) { try decoding.integer(UInt16.self, level + 1) } }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try takeIfPresent(key) { try decoding.integer(UInt16.self, level + 1) }
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try take(key) { try decoding.integer(UInt32.self, level + 1) } }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try takeIfPresent(key) { try decoding.integer(UInt32.self, level + 1) }
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try take(key) { try decoding.integer(UInt64.self, level + 1) } }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try takeIfPresent(key) { try decoding.integer(UInt64.self, level + 1) }
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try superDecoder(forKey: key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try superDecoder(forKey: key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder {
        guard try decoding.find(PathKey.super, start, level) else { throw decoding.missing(PathKey.super, level) }
        return decoding.child(level)
    }
    func superDecoder(forKey key: Key) throws -> any Decoder {
        try find(key)
        return decoding.child(level)
    }
}
