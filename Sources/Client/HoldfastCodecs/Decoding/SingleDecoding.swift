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
