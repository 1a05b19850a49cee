import CodecCore

/// What a value of Swift reads itself from.
struct BinaryDecoder: Decoder {
    let decoding: BinaryDecoding
    /// Where the value begins.
    let start: Int
    /// How many containers are around it.
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
