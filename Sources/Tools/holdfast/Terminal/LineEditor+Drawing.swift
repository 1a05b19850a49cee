extension LineEditor {
    static let eraseRow = "\r\u{1B}[K"

    /// Bytes that draw the prompt row over whatever the row held and leave the cursor in its place.
    ///
    /// The last column stays free: a character there makes terminals wrap, some at once and some later.
    var promptRow: String {
        let (left, right) = line.row(columns: max(1, columns - prompt.columns - 1))
        let cursor = prompt.columns + left.columns
        return "\r" + style.paint(prompt, .prompt) + left + right + "\u{1B}[K\r" + (cursor > 0 ? "\u{1B}[\(cursor)C" : "")
    }
}
