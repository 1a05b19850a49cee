import MachineCore

extension Value {
    /// The value as JSON, without white space.
    ///
    /// What JSON cannot say becomes what is usual: bytes a text in Base64, a time a text of RFC 3339, a tagged value the value, an integer
    /// as a key its digits.
    ///
    /// - Throws: A ``CodecError`` of any other key that is no text, of an extension, and of a number that is infinite or none.
    public func json() throws(CodecError) -> [UInt8] {
        var text = ""
        try JSONWriting.append(self, to: &text)
        return Array(text.utf8)
    }
}

enum JSONWriting {
    static func append(_ value: Value, to text: inout String) throws(CodecError) {
        switch value {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let number): text += String(number)
        case .unsigned(let number): text += String(number)
        case .float(let number):
            guard number.isFinite else { throw CodecError(.unsupported, at: text.utf8.count) }
            text += number.description
        case .text(let string): append(string, to: &text)
        case .bytes(let bytes): text += "\"\(Base64.text(bytes))\""
        case .array(let items):
            text += "["
            for (index, item) in items.enumerated() {
                if index > 0 { text += "," }
                try append(item, to: &text)
            }
            text += "]"
        case .map(let map):
            text += "{"
            for (index, entry) in map.enumerated() {
                if index > 0 { text += "," }
                switch entry.key {
                case .text(let key): append(key, to: &text)
                case .integer(let number): text += "\"\(number)\""
                case .unsigned(let number): text += "\"\(number)\""
                default: throw CodecError(.unsupported, at: text.utf8.count)
                }
                text += ":"
                try append(entry.value, to: &text)
            }
            text += "}"
        case .timestamp(let time): text += "\"\(time)\""
        case .tagged(_, let value): try append(value, to: &text)
        case .extension: throw CodecError(.unsupported, at: text.utf8.count)
        }
    }

    /// Appends a string with its quotes; only what must be escaped is, RFC 8259 §7.
    static func append(_ string: String, to text: inout String) {
        text += "\""
        if string.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            for scalar in string.unicodeScalars { append(scalar, to: &text) }
        } else {
            text += string
        }
        text += "\""
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        case "\0"..<" ":
            let digits = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: text.unicodeScalars.append(scalar)
        }
    }
}
