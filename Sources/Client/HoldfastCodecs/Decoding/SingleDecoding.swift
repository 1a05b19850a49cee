import CodecCore

/// The one value that a value is read from.
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

    func decode(_ type: Bool.Type) throws -> Bool {
        decoding.reader.move(to: start)
        let value = try decoding.bool(level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        decoding.reader.move(to: start)
        let value = try decoding.string(level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        decoding.reader.move(to: start)
        let value = try decoding.double(level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Float.Type) throws -> Float {
        decoding.reader.move(to: start)
        let value = try decoding.float(level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Int.Type) throws -> Int {
        decoding.reader.move(to: start)
        let value = try decoding.integer(Int.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Int8.Type) throws -> Int8 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(Int8.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Int16.Type) throws -> Int16 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(Int16.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Int32.Type) throws -> Int32 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(Int32.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: Int64.Type) throws -> Int64 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(Int64.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: UInt.Type) throws -> UInt {
        decoding.reader.move(to: start)
        let value = try decoding.integer(UInt.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: UInt8.Type) throws -> UInt8 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(UInt8.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: UInt16.Type) throws -> UInt16 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(UInt16.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: UInt32.Type) throws -> UInt32 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(UInt32.self, level)
        decoding.readSingle(from: start)
        return value
    }

    func decode(_ type: UInt64.Type) throws -> UInt64 {
        decoding.reader.move(to: start)
        let value = try decoding.integer(UInt64.self, level)
        decoding.readSingle(from: start)
        return value
    }
}
