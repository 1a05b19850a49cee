extension EditedLine {
    /// What is to be seen of the line on a row of so many columns: the text before the cursor and the text after it.
    ///
    /// It scrolls sideways, and looks at no more of the line than it shows.
    func row(columns room: Int) -> (left: String, right: String) {
        let left = Self.cells(before.reversed(), room: room)
        let right = Self.cells(after, room: room - left.columns)
        return (left.cells.reversed().joined(), right.cells.joined())
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
