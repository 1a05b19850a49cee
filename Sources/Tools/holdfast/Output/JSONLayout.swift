import CodecCore

/// Lays JSON text out over lines without touching its values: keys keep their order, numbers keep their digits.
enum JSONLayout {
    /// Deeper nesting than this is shown as it came: a peer must not choose how deep the recursion of the check goes.
    private static let depthLimit = 256

    /// The text over several lines, two spaces to a level, or nil when it is not JSON.
    static func pretty(_ text: String) -> String? {
        Array(text.utf8).withUnsafeBytes { bytes in
            guard isJSON(bytes) else { return nil }
            var (reader, output, depth) = (ByteReader(bytes), [UInt8](), 0)
            func newLine() {
                output.append(UInt8(ascii: "\n"))
                output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
            }
            reader.skipSpace()
            while let byte = try? reader.byte() {
                switch byte {
                case UInt8(ascii: "\""):
                    let start = reader.position - 1
                    _ = try? reader.jsonText()
                    output += bytes[start..<reader.position]
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    output.append(byte)
                    // In ASCII, a bracket that closes is the second behind the one that opens.
                    if reader.skipSpace(to: byte + 2) {
                        output.append(byte + 2)
                    } else {
                        depth += 1
                        newLine()
                    }
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    newLine()
                    output.append(byte)
                case UInt8(ascii: ","):
                    output.append(byte)
                    newLine()
                case UInt8(ascii: ":"): output += ": ".utf8
                default: output.append(byte)
                }
                reader.skipSpace()
            }
            return String(decoding: output, as: UTF8.self)
        }
    }

    private static func isJSON(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var reader = ByteReader(bytes)
        do {
            try reader.checkJSON(levels: depthLimit, isStrict: false)
            try reader.finishJSON()
            return true
        } catch { return false }
    }
}
