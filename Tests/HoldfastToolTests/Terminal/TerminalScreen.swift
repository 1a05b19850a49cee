import HoldfastTerminal

@testable import HoldfastTool

/// A model of a terminal: enough of ECMA-48 to see what the line editor leaves on it.
struct TerminalScreen {
    private(set) var rows: [[Character]] = [[]]
    private(set) var row = 0
    private(set) var column = 0
    let columns: Int

    init(columns: Int) { self.columns = columns }

    /// What stands on the screen, without trailing spaces and without the empty rows below.
    var lines: [String] {
        var lines = rows.map { row in
            var row = row.filter { $0 != "\0" }
            while row.last == " " { row.removeLast() }
            return String(row)
        }
        while lines.count > 1, lines.last == "" { lines.removeLast() }
        return lines
    }

    mutating func write(_ text: String) {
        var rest = Array(text)[...]
        while let character = rest.popFirst() {
            switch character {
            case "\r\n":
                column = 0
                lineFeed()
            case "\r": column = 0
            case "\n": lineFeed()
            case "\u{1B}": escape(&rest)
            default: put(character)
            }
        }
    }

    private mutating func put(_ character: Character) {
        if column + character.columns > columns {
            column = 0
            lineFeed()
        }
        while rows[row].count < column + character.columns { rows[row].append(" ") }
        rows[row][column] = character
        if character.columns == 2 { rows[row][column + 1] = "\0" }
        column += character.columns
    }

    private mutating func lineFeed() {
        row += 1
        if row == rows.count { rows.append([]) }
    }

    private mutating func escape(_ rest: inout ArraySlice<Character>) {
        guard rest.popFirst() == "[" else { return }
        var parameters = ""
        while let character = rest.popFirst() {
            guard character.isLetter else {
                parameters.append(character)
                continue
            }
            switch character {
            case "K": rows[row].removeLast(max(0, rows[row].count - column))
            case "C": column = min(columns - 1, column + (Int(parameters) ?? 1))
            case "H": (row, column) = (0, 0)
            case "J": rows = [[]]
            default: break
            }
            return
        }
    }
}
