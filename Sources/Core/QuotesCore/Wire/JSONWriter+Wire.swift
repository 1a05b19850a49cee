import CodecCore

extension JSONWriter: WireWriter {
    mutating func openMap(_ pairs: Int) { open(UInt8(ascii: "{")) }
    mutating func closeMap() { close(UInt8(ascii: "}")) }
    mutating func openArray(_ count: Int) { open(UInt8(ascii: "[")) }
    mutating func closeArray() { close(UInt8(ascii: "]")) }
}
