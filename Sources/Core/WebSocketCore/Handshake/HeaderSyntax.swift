/// The character rules of HTTP that the handshake needs, on bytes (RFC 9110 §5.6).
///
/// Only ASCII is folded: `String.lowercased()` would turn the Kelvin sign into a `k`.
enum HeaderSyntax {
    static func isToken(_ text: some StringProtocol) -> Bool {
        unsafe withBytes(of: text) { unsafe !$0.isEmpty && $0.allSatisfy(isTokenByte) }
    }

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
    static func isFieldValue(_ text: some StringProtocol) -> Bool { unsafe withBytes(of: text) { unsafe $0.allSatisfy(isFieldByte) } }

    static func isFieldByte(_ byte: UInt8) -> Bool { byte == tab || (byte >= space && byte != 0x7F) }

    /// Printable ASCII without the space.
    static func isVisible(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }

    static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool { !bytes.isEmpty && bytes.allSatisfy(isTokenByte) }

    static func isVisible(_ bytes: ArraySlice<UInt8>) -> Bool { !bytes.isEmpty && bytes.allSatisfy { 0x21...0x7E ~= $0 } }

    static func isDecimal(_ text: some StringProtocol) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.lazy.map(lowercased), as: UTF8.self)
    }

    static func isEqual(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return unsafe withBytes(of: one) { one in
            unsafe withBytes(of: other) { other in
                one.indices.allSatisfy { unsafe lowercased(one[$0]) == lowercased(other[$0]) }
            }
        }
    }

    /// Lends the text's UTF-8; to walk over a string's own view takes many times as long.
    private static func withBytes<Result>(of text: some StringProtocol, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = text.utf8.withContiguousStorageIfAvailable({ unsafe body($0) }) { return result }
        return unsafe Array(text.utf8).withUnsafeBufferPointer { unsafe body($0) }
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

    /// The elements of a list with commas between them (RFC 9110 §5.6.1), trimmed; empty ones are left out.
    static func list(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).map { String(trimmed(Substring($0))) }.filter { !$0.isEmpty }
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// A field's name; one that is in every handshake, and too long to be kept within a `String`, takes no memory of its own.
    static func knownName(_ name: UnsafeRawBufferPointer) -> String {
        for known in knownNames where known.utf8.count == name.count {
            let isSame = unsafe withBytes(of: known) { known in known.indices.allSatisfy { unsafe known[$0] == name[$0] } }
            if isSame { return known }
        }
        return unsafe String(decoding: name, as: UTF8.self)
    }

    private static let knownNames = [
        "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Accept", "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol",
    ]

    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
}
