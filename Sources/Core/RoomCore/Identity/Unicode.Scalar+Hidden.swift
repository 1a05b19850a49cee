import CodecCore

extension Unicode.Scalar {
    /// Whether it is no control character.
    var isPlain: Bool { !(value < 0x20 || (0x7F...0x9F).contains(value)) }

    /// The escape that stands for it, as Swift writes it: `\u{202E}`.
    package var written: String {
        let digits = String(value, radix: 16, uppercase: true)
        return #"\u{"# + (digits.count < 2 ? "0" : "") + digits + "}"
    }
}

extension StringProtocol {
    /// A name on one line, with what nobody would see written out: two names that look the same are the same.
    ///
    /// In texts such characters stay, for some scripts and emoji need them.
    package var escapedAsName: String {
        unicodeScalars.reduce(into: "") { result, scalar in result += scalar.isHidden ? scalar.written : String(scalar) }
    }
}

extension UserName {
    /// The first character of it that nobody sees, such as `U+202E`; nil if all are seen.
    package var hidden: String? { text.firstHidden }
}
