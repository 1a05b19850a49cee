import CodecCore

/// Writes MessagePack, everything in its shortest form.
struct MessagePackWireWriter: WireWriter, ~Copyable {
    private var writer: ByteWriter

    init(capacity: Int) { writer = ByteWriter(capacity: capacity) }

    mutating func openMap(_ pairs: Int) {
        fits { (writer: inout ByteWriter) throws(CodecError) in try writer.map(pairs, .messagePack) }
    }
    mutating func closeMap() {}
    mutating func openArray(_ count: Int) {
        fits { (writer: inout ByteWriter) throws(CodecError) in try writer.array(count, .messagePack) }
    }
    mutating func closeArray() {}
    mutating func key(_ key: StaticString) { text(key.description) }
    mutating func number(_ number: Int64) { writer.signed(number, .messagePack) }
    mutating func text(_ text: String) { fits { (writer: inout ByteWriter) throws(CodecError) in try writer.text(text, .messagePack) } }
    mutating func flag(_ flag: Bool) { writer.bool(flag, .messagePack) }

    consuming func finish() -> [UInt8] { writer.array() }

    /// Only a length of more than 32 bits is an error, and nothing that is written here is so long.
    private mutating func fits(_ write: (inout ByteWriter) throws(CodecError) -> Void) {
        do throws(CodecError) { try write(&writer) } catch { assertionFailure("\(error)") }
    }
}
