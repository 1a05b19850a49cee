import CodecCore

/// The array that a value is read from.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let decoding: BinaryDecoding
    /// Where the array begins.
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

    /// Makes the decoding stand where this container is.
    private func goOn() throws {
        if decoding.frames.count == level + 1, decoding.frames[level].start == start, decoding.frames[level].index == currentIndex {
            return
        }
        try decoding.goOn(in: start, level, at: currentIndex)
    }

    /// Goes to the next value.
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
    /// Goes to the array that begins at a place, as the one at this level, and to one of its values.
    func goOn(in start: Int, _ level: Int, at index: Int) throws {
        try enter(start, level, isMap: false, [Any].self)
        guard frames[level].index != index else { return }
        (frames[level].index, frames[level].position) = (0, frames[level].first)
        while frames[level].index < index, hasNext(level) {
            try skip(level)
            passedItem(level)
        }
    }

    /// Notes that a value of the array at a level has been read.
    @inline(__always) func passedItem(_ level: Int) {
        frames[level].position = reader.position
        frames[level].index += 1
    }

    /// Goes past the next value.
    func skip(_ level: Int) throws {
        do { try reader.skipValue(format) } catch { throw corrupt(level + 1, error) }
    }
}
