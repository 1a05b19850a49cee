import CodecCore

/// What a value of Swift writes itself to.
struct BinaryEncoder: Encoder {
    let encoding: BinaryEncoding
    /// How many containers are around the value.
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
    /// The encoder of a child, once `begin` has written what goes before it.
    func child(at level: Int, _ begin: () throws -> Void) -> BinaryEncoder {
        do {
            try begin()
            return BinaryEncoder(encoding: child(level), level: 0)
        } catch {
            // Its parent is of no use any more; what is written here goes nowhere.
            fail(error)
            return BinaryEncoder(encoding: BinaryEncoding(format, options, prefix: prefix), level: 0)
        }
    }
}
