extension LineEditor {
    static let eraseRow = "\r\u{1B}[K"

    /// Bytes that draw the prompt row over whatever the row held and leave the cursor in its place.
    ///
    /// The last column stays free: a character there makes terminals wrap, some at once and some later.
    var promptRow: String {
        let room = max(1, columns - prompt.columns - 1)
        let left = Self.cells(line.before.reversed(), room: room)
        let right = Self.cells(line.after, room: room - left.columns)
        let cursor = prompt.columns + left.columns
        return "\r" + style.paint(prompt, .prompt) + left.cells.reversed().joined() + right.cells.joined()
            + "\u{1B}[K\r" + (cursor > 0 ? "\u{1B}[\(cursor)C" : "")
    }

    private static func cells(_ characters: some Sequence<Character>, room: Int) -> (cells: [String], columns: Int) {
        var (cells, columns): ([String], Int) = ([], 0)
        for character in characters {
            let cell = picture(of: character)
            let width = cell.columns
            guard columns + width <= room else { break }
            cells.append(cell)
            columns += width
        }
        return (cells, columns)
    }

    /// What stands for a character in the row: control characters show as their pictures (U+2400 block), one column each.
    private static func picture(of character: Character) -> String {
        guard let scalar = character.unicodeScalars.first else { return "" }
        if character == "\r\n" { return "\u{240A}" }
        if scalar.value < 0x20, let picture = UnicodeScalar(0x2400 + scalar.value) { return String(picture) }
        if scalar.value == 0x7F { return "\u{2421}" }
        return character.unicodeScalars.contains(where: \.drivesTerminal) ? "\u{FFFD}" : String(character)
    }
}
