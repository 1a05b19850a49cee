/// Base64 (RFC 4648 §4), as much as the handshake needs.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var start = 0
        while start < bytes.count {
            let count = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for place in 0..<3 { bits = bits << 8 | (place < count ? UInt32(bytes[start + place]) : 0) }
            for place in 0..<4 { text.append(place > count ? padding : alphabet[Int(bits >> UInt32(18 - 6 * place) & 0x3F)]) }
            start += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the text stands for exactly 16 bytes; bits left over in its last digit are not looked at.
    static func holds16Bytes(_ text: String) -> Bool {
        let utf8 = Array(text.utf8)
        return utf8.count == 24 && utf8[22] == padding && utf8[23] == padding && utf8[..<22].allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
    }

    /// What a digit stands for; nil if it is none.
    static func value(of digit: UInt8) -> Int? { alphabet.firstIndex(of: digit) }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
}
