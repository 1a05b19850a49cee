import CodecCore

/// The one value that a value writes in its place.
struct SingleEncoding: SingleValueEncodingContainer, ScalarEncoding {
    let encoding: BinaryEncoding
    let level: Int
    /// How much had been written before.
    let start: Int

    var codingPath: [any CodingKey] { encoding.path(level) }
    var valueLevel: Int { level }

    func begin() throws {
        guard encoding.writer.count == start else { throw encoding.fault((), level, "one value is written twice") }
    }
}
