import CodecCore

/// Writes values one after another as the protocol needs them.
protocol WireWriter: ~Copyable {
    init(capacity: Int)

    mutating func openMap(_ pairs: Int)
    mutating func closeMap()
    mutating func openArray(_ count: Int)
    mutating func closeArray()
    /// Writes a key of the protocol, which needs no escaping.
    mutating func key(_ key: StaticString)
    mutating func number(_ number: Int64)
    mutating func text(_ text: String)
    mutating func flag(_ flag: Bool)

    /// What was written.
    consuming func finish() -> [UInt8]
}
