/// Bytes as people read them: `00000000  48 65 6c 6c  |Hell|`.
enum HexDump {
    private static let rowLength = 16

    /// Sixteen bytes to a row: offset, values, and the printable ASCII among them.
    static func rows(of bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: rowLength).map { offset in
            let row = bytes[offset..<min(offset + rowLength, bytes.count)]
            let values = row.enumerated().map { ($0.offset == rowLength / 2 ? " " : "") + pair($0.element) }.joined(separator: " ")
            let text = String(decoding: row.map { 0x20..<0x7F ~= $0 ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
            let address = String(offset, radix: 16)
            let width = rowLength * 3
            return String(repeating: "0", count: max(0, 8 - address.count)) + address + "  "
                + values + String(repeating: " ", count: max(0, width - values.count)) + "  |\(text)|"
        }
    }

    /// The first bytes on one line, for a message that is not dumped whole.
    static func preview(of bytes: [UInt8], limit: Int = 16) -> String {
        bytes.prefix(limit).map(pair).joined(separator: " ") + (bytes.count > limit ? " …" : "")
    }

    private static func pair(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count < 2 ? "0" + digits : digits
    }
}
