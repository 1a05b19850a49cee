extension Message: CustomStringConvertible {
    /// Its kind, its length and how it begins: `text, 5 bytes: "hello"`, `binary, 100 bytes: 00 ff 1b …`.
    ///
    /// At most the first 64 bytes of text, with control characters and quotes escaped, or the first 16 bytes.
    public var description: String {
        let count = byteCount == 1 ? "1 byte" : "\(byteCount) bytes"
        switch self {
        case .text(let text):
            let start = text.utf8.prefix(64)
            var words = ""
            for scalar in String(Substring(start)).unicodeScalars { words += scalar.escaped }
            return "text, \(count): \"\(words)\"" + (text.utf8.count > start.count ? " …" : "")
        case .binary(let bytes):
            let start = bytes.prefix(16).map { byte in
                let digits = String(byte, radix: 16)
                return digits.count < 2 ? "0" + digits : digits
            }
            return "binary, \(count)" + (bytes.isEmpty ? "" : ": " + start.joined(separator: " ")) + (bytes.count > 16 ? " …" : "")
        }
    }
}

extension Unicode.Scalar {
    /// Not to be taken for the end of a text or a line, nor to steer a terminal.
    fileprivate var escaped: String {
        switch self {
        case "\"", "\\": "\\\(self)"
        default:
            properties.generalCategory == .control || properties.generalCategory == .format ? "\\u{\(String(value, radix: 16))}" : "\(self)"
        }
    }
}
