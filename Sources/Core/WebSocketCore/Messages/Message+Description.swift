extension Message: CustomStringConvertible, CustomReflectable {
    /// Its kind, its length and how it begins: `text, 5 bytes: "hello"`, `binary, 100 bytes: 00 ff 1b …`.
    ///
    /// At most the first 64 bytes of text, with control characters and quotes escaped, or the first 16 bytes. What a name announces that
    /// is like `password` is `<hidden>`.
    public var description: String {
        let excerpt = MessageExcerpt(of: self, limit: kind == .text ? 64 : 16)
        let count = byteCount == 1 ? "1 byte" : "\(byteCount) bytes"
        switch self {
        case .text: return "text, \(count): \(excerpt.start)"
        case .binary(let bytes): return "binary, \(count)" + (bytes.isEmpty ? "" : ": \(excerpt.start)")
        }
    }

    /// The description alone: a dump shows no more of a message than a log does.
    public var customMirror: Mirror { Mirror(self, children: ["message": description]) }
}
