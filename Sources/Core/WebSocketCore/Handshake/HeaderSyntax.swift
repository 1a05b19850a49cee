/// The character rules of HTTP that the handshake needs, on bytes (RFC 9110 §5.6).
///
/// Only ASCII is folded: `String.lowercased()` would turn the Kelvin sign into a `k`.
enum HeaderSyntax {
    static func isToken(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isTokenByte) }

    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"): true
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"): true
        case UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// No control characters but the tab: above all no CR, LF or NUL (RFC 9110 §5.5).
    static func isFieldValue(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy(isFieldByte) }

    static func isFieldByte(_ byte: UInt8) -> Bool { byte == tab || (byte >= space && byte != 0x7F) }

    /// Printable ASCII without the space.
    static func isVisible(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }

    static func isDecimal(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.lazy.map(lowercased), as: UTF8.self)
    }

    static func isEqual(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
        one.utf8.count == other.utf8.count && zip(one.utf8, other.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    /// Without leading and trailing spaces and tabs.
    static func trimmed<Text: StringProtocol>(_ text: Text) -> Text.SubSequence {
        let scalars = text.unicodeScalars
        let isText = { (scalar: Unicode.Scalar) in scalar != " " && scalar != "\t" }
        guard let first = scalars.firstIndex(where: isText), let last = scalars.lastIndex(where: isText) else {
            return text[text.endIndex...]
        }
        return text[first..<scalars.index(after: last)]
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
}
