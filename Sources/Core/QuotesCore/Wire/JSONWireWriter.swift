import CodecCore

/// Writes JSON, without white space.
struct JSONWireWriter: WireWriter, ~Copyable {
    private var writer: ByteWriter
    /// A value stands before the next one.
    private var needsComma = false

    init(capacity: Int) { writer = ByteWriter(capacity: capacity) }

    mutating func openMap(_ pairs: Int) { open(UInt8(ascii: "{")) }
    mutating func closeMap() { close(UInt8(ascii: "}")) }
    mutating func openArray(_ count: Int) { open(UInt8(ascii: "[")) }
    mutating func closeArray() { close(UInt8(ascii: "]")) }

    mutating func key(_ key: StaticString) {
        word(key.description)
        writer.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func number(_ number: Int64) {
        separate()
        if number < 0 { writer.append(UInt8(ascii: "-")) }
        // The digits come from the last to the first.
        var (left, place, divisor) = (number.magnitude, 1, UInt64(1))
        while left / divisor >= 10 { (divisor, place) = (divisor * 10, place + 1) }
        for _ in 0..<place {
            writer.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: left / divisor))
            left %= divisor
            divisor /= 10
        }
    }

    mutating func word(_ word: String) {
        separate()
        writer.append(UInt8(ascii: "\""))
        for byte in word.utf8 { writer.append(byte) }
        writer.append(UInt8(ascii: "\""))
    }

    mutating func text(_ text: String) {
        separate()
        for byte in (try? Value.text(text).json()) ?? [] { writer.append(byte) }
    }

    mutating func flag(_ flag: Bool) {
        separate()
        for byte in flag ? "true".utf8 : "false".utf8 { writer.append(byte) }
    }

    consuming func finish() -> [UInt8] { writer.array() }

    private mutating func open(_ bracket: UInt8) {
        separate()
        writer.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        writer.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { writer.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}
