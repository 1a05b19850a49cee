import HoldfastRooms

/// A chat as it is drawn on a terminal: the messages with their ticks, who is there, and the line that is being written.
struct ChatBoard: Hashable, Sendable {
    /// What is shown of the room, at one moment.
    struct Picture: Hashable, Sendable {
        var title = ""
        var people: [String] = []
        var typing: [String] = []
        var connection = ChatConnection.connecting
        var roundTrip: Duration?
        var messages: [ChatMessage] = []
        var hasEarlier = false
        var problem: String?
    }
    /// What a key asks for besides editing.
    enum Wish: Hashable, Sendable {
        case send(String)
        case loadEarlier
        case leave
        case suspend
        case putAwayProblem
    }

    private let style: Style
    private(set) var line = EditedLine()
    private var history = LineHistory()
    /// How many rows are below the last that is shown.
    private var scrolled = 0
    private var page = 10

    init(style: Style) { self.style = style }

    // MARK: - Keys

    /// Takes a key.
    mutating func press(_ key: Key) -> Wish? {
        switch key {
        case .enter: return submit()
        case .control("c") where line.isEmpty, .control("d") where line.isEmpty: return .leave
        case .control("z"): return .suspend
        case .up where line.isEmpty:
            scrolled += max(1, page / 2)
            return .loadEarlier
        case .down where line.isEmpty: scrolled = max(0, scrolled - max(1, page / 2))
        case .control("l"): return .putAwayProblem
        default: edit(key)
        }
        return nil
    }

    private mutating func submit() -> Wish? {
        let text = line.text
        guard text.contains(where: { !$0.isWhitespace }) else { return nil }
        history.add(text)
        line.replace(with: "")
        scrolled = 0
        return .send(text)
    }

    private mutating func edit(_ key: Key) {
        switch key {
        case .text(let text), .paste(let text): line.insert(text)
        case .backspace, .control("h"): line.deleteBackward()
        case .delete, .control("d"): line.deleteForward()
        case .left, .control("b"): line.moveLeft()
        case .right, .control("f"): line.moveRight()
        case .home, .control("a"): line.moveToStart()
        case .end, .control("e"): line.moveToEnd()
        case .wordLeft, .alt("b"): line.moveWordLeft()
        case .wordRight, .alt("f"): line.moveWordRight()
        case .up, .control("p"): if let text = history.older(than: line.text) { line.replace(with: text) }
        case .down, .control("n"): if let text = history.newer() { line.replace(with: text) }
        case .control("k"): line.killToEnd()
        case .control("u"), .control("c"): line.killToStart()
        case .control("w"): line.killTokenBackward()
        case .control("y"): line.yank()
        default: break
        }
    }

    // MARK: - Drawing

    /// All lines of a picture of this size; none is wider than `columns`.
    mutating func lines(_ picture: Picture, columns: Int, height: Int) -> [String] {
        page = max(1, height - 4)
        let rows = picture.messages.flatMap { Self.rows(of: $0, columns: columns, style) }
        scrolled = max(0, min(scrolled, rows.count - page))
        let shown = rows.dropLast(scrolled).suffix(page)
        let isLive = picture.connection == .live
        let trip = isLive ? picture.roundTrip.map { "  rtt \($0.phrase)" } ?? "" : ""
        let standing = Self.cut(picture.connection.label.escapedOnOneLine + trip, max(10, columns / 2))
        let names = picture.people.map(\.escapedOnOneLine).joined(separator: ", ")
        let title = Self.cut("\(picture.title.escapedOnOneLine)  \(names)", columns - standing.columns - 2)
        let gap = String(repeating: " ", count: max(1, columns - title.columns - standing.columns))
        var lines = [style.paint(title, .prompt) + gap + style.paint(standing, isLive ? .good : .bad)]
        lines.append(style.paint(String(repeating: "─", count: max(1, columns)), .dim))
        lines += Array(repeating: "", count: page - shown.count) + shown
        lines.append(note(picture, columns))
        lines.append(prompt(columns))
        return lines
    }

    private func note(_ picture: Picture, _ columns: Int) -> String {
        if let problem = picture.problem { return style.paint(Self.cut(problem.escapedOnOneLine + "  (Control-L)", columns), .bad) }
        if scrolled > 0 { return style.paint(Self.cut("\(scrolled.counted("row")) below, ↓ goes there", columns), .dim) }
        guard !picture.typing.isEmpty else { return style.paint(Self.cut("↑ older messages, Control-C ends", columns), .dim) }
        let names = picture.typing.prefix(3).map(\.escapedOnOneLine).joined(separator: ", ")
        return style.paint(Self.cut("\(names) \(picture.typing.count == 1 ? "is" : "are") typing…", columns), .note)
    }

    /// The line that is being written, with its cursor.
    private func prompt(_ columns: Int) -> String {
        let before = "> " + line.before.escapedOnOneLine
        let room = max(4, columns - 2)
        var left = before
        while left.columns > room - 1 { left.removeFirst() }
        let after = line.after.escapedOnOneLine
        let cursor = after.first.map(String.init) ?? " "
        let rest = Self.cut(String(after.dropFirst()), room - left.columns - cursor.columns)
        return left + (style.isColoured ? "\u{1B}[7m\(cursor)\u{1B}[0m" : "▏" + (after.isEmpty ? "" : cursor)) + rest
    }

    /// The rows of one message: time, who, what, and on the last its tick.
    static func rows(of message: ChatMessage, columns: Int, _ style: Style) -> [String] {
        let who = message.isOwn ? "you" : message.user?.text.escapedOnOneLine ?? "?"
        let head = "\(TimeOfDay.minutes(of: message.at)) \(cut(who, max(4, columns / 3))): "
        let words = message.isDeleted ? "(deleted)" : message.text.escapedForTerminal(indent: "")
        let tail =
            message.reactions.map { " \($0.key.escapedOnOneLine)\($0.users.count > 1 ? String($0.users.count) : "")" }.joined()
            + (message.isEdited ? " (edited)" : "")
        let tick = message.delivery.map { " \($0.tick)" } ?? ""
        let width = max(8, columns - head.columns - tick.columns - 1)
        var rows = wrapped(words + tail, width)
        let indent = String(repeating: " ", count: head.columns)
        let isBad = if case .failed = message.delivery { true } else { false }
        for place in rows.indices {
            let text = message.isDeleted || message.seq == nil ? style.paint(rows[place], .dim) : rows[place]
            rows[place] = (place == 0 ? style.paint(head, message.isOwn ? .sent : .received) : indent) + text
        }
        rows[rows.count - 1] += style.paint(tick, isBad ? .bad : .dim)
        if case .failed(let reason)? = message.delivery { rows.append(indent + style.paint(cut(reason.escapedOnOneLine, width), .bad)) }
        return rows
    }

    /// Cuts text into rows, between words where it can be; at least one.
    static func wrapped(_ text: String, _ columns: Int) -> [String] {
        var rows: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var row = ""
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
                let joined = row.isEmpty ? String(word) : row + " " + word
                if joined.columns <= columns {
                    row = joined
                    continue
                }
                if !row.isEmpty { rows.append(row) }
                row = ""
                for character in word {
                    if row.columns + character.columns > columns {
                        rows.append(row)
                        row = ""
                    }
                    row.append(character)
                }
            }
            rows.append(row)
        }
        return rows
    }

    private static func cut(_ text: String, _ columns: Int) -> String {
        var (result, used) = ("", 0)
        for character in text {
            guard used + character.columns <= columns else { break }
            result.append(character)
            used += character.columns
        }
        return result
    }
}
