/// `%XX` in URLs (RFC 3986 §2.1).
enum PercentEncoding {
    /// The text that is meant; nil for a `%` without two digits, a NUL, or what is not UTF-8.
    static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let high = digit(rest.removeFirst()), let low = digit(rest.removeFirst()) else { return nil }
            bytes.append(high << 4 | low)
        }
        guard !bytes.contains(0) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        // What was no UTF-8 has been mended, and so changed.
        return text.utf8.elementsEqual(bytes) ? text : nil
    }

    /// A path for a `ws+unix:` URL: what may not stand there, and the colon that ends it, as `%XX`.
    static func encode(path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in path.utf8 {
            if 0x21...0x7E ~= byte, !#"%:?#"#.utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? { Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) } }
}
