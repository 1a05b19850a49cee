extension Unicode.Scalar {
    /// Whether nobody sees it where text is shown, it looks like a space and is none, or it changes how the text around it is shown.
    ///
    /// Directions (U+202A to U+202E, U+2066 to U+2069, U+200E, U+200F, U+061C), characters without a width (U+200B to U+200D, U+2060, U+FEFF,
    /// variation selectors, fillers), tags (U+E0000 to U+E007F), blanks other than U+0020 (such as U+00A0 and U+2800), ends of lines and
    /// control characters: with them two names look the same.
    package var isHidden: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        case .spaceSeparator: self != " "
        default: properties.isDefaultIgnorableCodePoint || (0xE0000...0xE0FFF).contains(value) || value == 0x2800
        }
    }
}

extension String {
    /// The first character of it that nobody sees, such as `U+202E`; nil if all are seen.
    package var firstHidden: String? {
        unicodeScalars.first(where: \.isHidden).map { scalar in
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }
}
