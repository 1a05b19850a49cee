import MachineCore

/// Bytes as people read them: `00000000  48 65 6c 6c  |Hell|`.
enum HexDump {
    private static let rowLength = 16

    /// Sixteen bytes to a row: offset, values, and the printable ASCII among them.
    static func rows(of bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: rowLength).map { offset in
            let row = bytes[offset..<min(offset + rowLength, bytes.count)]
            let halves = [row.prefix(rowLength / 2), row.dropFirst(rowLength / 2)].map { Hexadecimal.text($0, separator: " ") }
            let values = halves.filter { !$0.isEmpty }.joined(separator: "  ")
            let text = String(decoding: row.map { 0x20..<0x7F ~= $0 ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
            let width = rowLength * 3
            return "\(Hexadecimal.digits(UInt64(offset)).dropFirst(8))  " + values
                + String(repeating: " ", count: max(0, width - values.count)) + "  |\(text)|"
        }
    }

    /// The first bytes on one line, for a message that is not dumped whole.
    static func preview(of bytes: [UInt8], limit: Int = 16) -> String {
        Hexadecimal.text(bytes.prefix(limit), separator: " ") + (bytes.count > limit ? " …" : "")
    }
}
