import MachineCore

/// `%XX` in URLs (RFC 3986 §2.1).
package enum PercentEncoding {
    /// The text that is meant; nil for a `%` without two digits, a NUL, or what is not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let pair = Hexadecimal.bytes(rest.prefix(2)), !pair.isEmpty else { return nil }
            bytes += pair
            rest.removeFirst(2)
        }
        guard !bytes.contains(0) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        // What was no UTF-8 has been mended, and so changed.
        return text.utf8.elementsEqual(bytes) ? text : nil
    }

    /// A path for a `ws+unix:` URL: what may not stand there, and the colon that ends it, as `%XX`.
    static func encode(path: String) -> String {
        String(decoding: encode(path.utf8) { 0x21...0x7E ~= $0 && !#"%:?#"#.utf8.contains($0) }, as: UTF8.self)
    }

    /// All bytes as `%XX` but those that may stand as they are.
    static func encode(_ bytes: some Sequence<UInt8>, uppercase: Bool = true, except isPlain: (UInt8) -> Bool) -> [UInt8] {
        bytes.flatMap { isPlain($0) ? [$0] : [UInt8(ascii: "%")] + Hexadecimal.digits($0, uppercase: uppercase) }
    }

    /// Whether a byte stands for itself wherever it is in a URL (RFC 3986 §2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
