import Foundation
import MachineCore
import RoomCore

extension StringProtocol {
    /// The text with control characters written as `\u{1B}`, so that text from a peer cannot control the terminal.
    ///
    /// Line breaks stay, each followed by `indent`, so that no line of a message looks like one of the tool's own. Tabs stay.
    package func escapedForTerminal(indent: String = "  ") -> String {
        var result = ""
        result.reserveCapacity(utf8.count)
        var afterReturn = false
        for scalar in unicodeScalars {
            if afterReturn, scalar != "\n" { result += Unicode.Scalar(0x0D).written }
            switch scalar {
            case "\r": break
            case "\n": result += "\n" + indent
            case "\t": result += "\t"
            default: result += scalar.drivesTerminal ? scalar.written : String(scalar)
            }
            afterReturn = scalar == "\r"
        }
        return afterReturn ? result + Unicode.Scalar(0x0D).written : result
    }

    /// The text on one line, for reasons and header values: line breaks are escaped too.
    package var escapedOnOneLine: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\r": result += #"\r"#
            case "\n": result += #"\n"#
            default: result += scalar.drivesTerminal ? scalar.written : String(scalar)
            }
        }
    }

    /// The same JSON on one line, with characters that control a terminal escaped, such as `\u009B`.
    ///
    /// Characters below U+0020 only occur between values, and become spaces.
    package var escapedWithinJSON: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            result += !scalar.drivesTerminal ? String(scalar) : scalar.value < 0x20 ? " " : scalar.escapedInJSON
        }
    }

    /// The number of terminal columns of the text.
    package var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension String {
    /// The same JSON on several lines, with characters that control a terminal escaped, except line breaks.
    package var escapedWithinJSONLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map(\.escapedWithinJSON).joined(separator: "\n")
    }

    /// A bar with `width` columns for the greatest value, exact to an eighth of a column; every positive value is visible.
    package init(bar value: Double, of most: Double, width: Int) {
        guard value > 0, most > 0 else {
            self = ""
            return
        }
        let eighths = Swift.max(1, Int((value / most * Double(width * 8)).rounded()))
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        self = String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    }
}

extension Encodable {
    /// Returns the value as JSON over several lines, with sorted keys.
    package func inPrettyJSON() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

extension Unicode.Scalar {
    /// The JSON escape of the scalar, such as `\u202E`; two escapes beyond U+FFFF.
    package var escapedInJSON: String {
        utf16.map { "\\u" + Hexadecimal.text([UInt8($0 >> 8), UInt8($0 & 0xFF)]).uppercased() }.joined()
    }

    /// Whether the scalar moves the cursor, changes the terminal's state, or reorders text (bidirectional overrides).
    package var drivesTerminal: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFFF9...0xFFFB: true
        default: false
        }
    }

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

extension Character {
    /// The number of terminal columns: 0 for lone marks, 2 for wide East Asian characters and emoji, otherwise 1.
    ///
    /// Follows Unicode Standard Annex #11 (East Asian Width) in the ranges that terminals agree on.
    package var columns: Int {
        if isASCII { return 1 }
        if unicodeScalars.contains("\u{FE0F}") { return 2 }
        return unicodeScalars.lazy.map(\.columns).first { $0 > 0 } ?? 0
    }
}
