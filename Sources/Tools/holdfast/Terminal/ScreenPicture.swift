/// Pictures of the whole screen.
enum ScreenPicture {
    /// What draws these lines over those before, all at once on terminals that can.
    ///
    /// - Parameter cursor: The column of the last line where the cursor is to be seen, from 0; nil: it stays hidden.
    static func drawing(_ lines: [String], cursor: Int? = nil) -> String {
        let place = cursor.map { "\u{1B}[\(lines.count);\($0 + 1)H\u{1B}[?25h" } ?? ""
        return "\u{1B}[?2026h\u{1B}[?25l\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J" + place + "\u{1B}[?2026l"
    }

    /// The terminal's columns and rows; those of a common one if it does not say.
    ///
    /// Asked anew for each picture, so a window that changes is no event.
    static var size: (columns: Int, rows: Int) {
        let size = StandardOutput.size()
        return (size.columns > 0 ? size.columns : 80, size.rows > 0 ? size.rows : 24)
    }
}
