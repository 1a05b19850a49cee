import CodecCore

extension Unicode.Scalar {
    /// Whether it is no control character.
    var isPlain: Bool { !(value < 0x20 || (0x7F...0x9F).contains(value)) }
}

extension UserName {
    /// The first character of it that nobody sees, such as `U+202E`; nil if all are seen.
    package var hidden: String? { text.firstHidden }
}
