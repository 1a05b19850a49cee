extension Character {
    /// Columns this character takes on a terminal: 0 for lone marks, 2 for wide East Asian characters and emoji, otherwise 1.
    ///
    /// Follows Unicode Standard Annex #11 (East Asian Width) in the ranges that terminals agree on.
    var columns: Int {
        if isASCII { return 1 }
        if unicodeScalars.contains("\u{FE0F}") { return 2 }
        return unicodeScalars.lazy.map(\.columns).first { $0 > 0 } ?? 0
    }
}

extension StringProtocol {
    /// Columns this text takes on one row of a terminal.
    var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Unicode.Scalar {
    fileprivate var columns: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: return properties.isEmojiPresentation || isWide ? 2 : 1
        }
    }

    private var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF,
            0x1F200...0x1F2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
