import CodecCore

/// The array that a value writes.
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
