/// Base64 (RFC 4648 §4), as much as the handshake needs.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for place in 0...group.count { text.append(alphabet[Int(bits >> (18 - 6 * place) & 0x3F)]) }
            text += Array(repeating: padding, count: 3 - group.count)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the text stands for exactly 16 bytes; bits left over in its last digit are not looked at.
    static func holds16Bytes(_ text: String) -> Bool {
        let utf8 = Array(text.utf8)
        return utf8.count == 24 && utf8[22...] == [padding, padding] && utf8[..<22].allSatisfy(alphabet.contains)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
}
