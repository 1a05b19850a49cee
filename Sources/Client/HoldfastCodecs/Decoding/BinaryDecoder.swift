import CodecCore

/// The decoder of one value.
struct BinaryDecoder: Decoder {
    let decoding: BinaryDecoding
    /// The position of the value.
    let start: Int
    /// The number of containers around it.
    let level: Int

    var codingPath: [any CodingKey] { decoding.path(level) }
    var userInfo: [CodingUserInfoKey: Any] { decoding.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try decoding.enter(start, level, isMap: true, [String: Any].self)
        return KeyedDecodingContainer(KeyedDecoding(decoding: decoding, start: start, level: level))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try decoding.enter(start, level, isMap: false, [Any].self)
        return UnkeyedDecoding(decoding, start, level)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        SingleDecoding(decoding: decoding, start: start, level: level)
    }
}

/// The decoding container for a map.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoding: BinaryDecoding
    /// The position of the map.
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

    /// Moves to the value of a key; returns false if there is none or it is null.
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

/// The decoding container for an array.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let decoding: BinaryDecoding
    /// The position of the array.
    let start: Int
    let level: Int
    private(set) var currentIndex = 0

    init(_ decoding: BinaryDecoding, _ start: Int, _ level: Int) {
        (self.decoding, self.start, self.level) = (decoding, start, level)
    }

    var codingPath: [any CodingKey] { decoding.path(level) }
    var count: Int? {
        guard (try? goOn()) != nil else { return nil }
        return decoding.frames[level].count
    }
    var isAtEnd: Bool {
        guard (try? goOn()) != nil else { return true }
        return !decoding.hasNext(level)
    }

    /// Moves the decoding to this container's position.
    private func goOn() throws {
        if decoding.frames.count == level + 1, decoding.frames[level].start == start, decoding.frames[level].index == currentIndex {
            return
        }
        try decoding.goOn(in: start, level, at: currentIndex)
    }

    /// Moves to the next value.
    private func begin(_ type: Any.Type) throws {
        try goOn()
        guard decoding.hasNext(level) else { throw decoding.atEnd(type, level + 1) }
    }

    private mutating func passed() {
        decoding.passedItem(level)
        currentIndex += 1
    }

    mutating func decodeNil() throws -> Bool {
        try begin(Never?.self)
        guard decoding.takeNull() else { return false }
        passed()
        return true
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try take(type) { try $0.read(type, from: $0.reader.position, $1) }
    }

    @inline(__always)
    private mutating func take<Value>(_ type: Value.Type, _ read: (BinaryDecoding, Int) throws -> Value) throws -> Value {
        try begin(type)
        let value = try read(decoding, level + 1)
        passed()
        return value
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try take(type) { try $0.bool($1) } }
    mutating func decode(_ type: String.Type) throws -> String { try take(type) { try $0.string($1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try take(type) { try $0.double($1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try take(type) { try $0.float($1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try take(type) { try $0.integer(Int.self, $1) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try take(type) { try $0.integer(Int8.self, $1) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try take(type) { try $0.integer(Int16.self, $1) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try take(type) { try $0.integer(Int32.self, $1) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try take(type) { try $0.integer(Int64.self, $1) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try take(type) { try $0.integer(UInt.self, $1) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take(type) { try $0.integer(UInt8.self, $1) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take(type) { try $0.integer(UInt16.self, $1) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take(type) { try $0.integer(UInt32.self, $1) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take(type) { try $0.integer(UInt64.self, $1) } }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try superDecoder().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try superDecoder().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder {
        try begin((any Decoder).self)
        let child = decoding.child(level)
        try decoding.skip(level)
        passed()
        return child
    }
}

extension BinaryDecoding {
    /// Enters the array that begins at `start` as the container of this level, and moves to one of its values.
    func goOn(in start: Int, _ level: Int, at index: Int) throws {
        try enter(start, level, isMap: false, [Any].self)
        guard frames[level].index != index else { return }
        (frames[level].index, frames[level].position) = (0, frames[level].first)
        while frames[level].index < index, hasNext(level) {
            try skip(level)
            passedItem(level)
        }
    }

    /// Records that a value of the array at a level has been decoded.
    @inline(__always) func passedItem(_ level: Int) {
        frames[level].position = reader.position
        frames[level].index += 1
    }

    /// Skips the next value.
    func skip(_ level: Int) throws {
        do { try reader.skipValue(format) } catch { throw corrupt(level + 1, error) }
    }
}

/// The decoding container for a single value.
struct SingleDecoding: SingleValueDecodingContainer {
    let decoding: BinaryDecoding
    let start: Int
    let level: Int

    var codingPath: [any CodingKey] { decoding.path(level) }

    func decodeNil() -> Bool {
        decoding.reader.move(to: start)
        guard decoding.takeNull() else { return false }
        decoding.readSingle(from: start)
        return true
    }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try decoding.read(type, from: start, level)
        decoding.readSingle(from: start)
        return value
    }

    @inline(__always)
    private func take<Value>(_ read: () throws -> Value) throws -> Value {
        decoding.reader.move(to: start)
        let value = try read()
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Bool.Type) throws -> Bool { try take { try decoding.bool(level) } }
    func decode(_ type: String.Type) throws -> String { try take { try decoding.string(level) } }
    func decode(_ type: Double.Type) throws -> Double { try take { try decoding.double(level) } }
    func decode(_ type: Float.Type) throws -> Float { try take { try decoding.float(level) } }
    func decode(_ type: Int.Type) throws -> Int { try take { try decoding.integer(Int.self, level) } }
    func decode(_ type: Int8.Type) throws -> Int8 { try take { try decoding.integer(Int8.self, level) } }
    func decode(_ type: Int16.Type) throws -> Int16 { try take { try decoding.integer(Int16.self, level) } }
    func decode(_ type: Int32.Type) throws -> Int32 { try take { try decoding.integer(Int32.self, level) } }
    func decode(_ type: Int64.Type) throws -> Int64 { try take { try decoding.integer(Int64.self, level) } }
    func decode(_ type: UInt.Type) throws -> UInt { try take { try decoding.integer(UInt.self, level) } }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try take { try decoding.integer(UInt8.self, level) } }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try take { try decoding.integer(UInt16.self, level) } }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try take { try decoding.integer(UInt32.self, level) } }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try take { try decoding.integer(UInt64.self, level) } }
}
