import HoldfastRooms
import HoldfastTerminal
import RoomCore

/// A chat on a terminal: the messages with their delivery marks, the people present, and the input line.
struct ChatBoard: Hashable, Sendable {
    /// The visible state of the room at one moment.
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
    /// A request of a key in addition to editing.
    enum Command: Hashable, Sendable {
        case send(String)
        case loadEarlier
        case leave
        case suspend
        case putAwayProblem
        /// Send the failed messages again.
        case retry
        /// Discard the failed messages.
        case discard
    }

    private static let prompt = "> "
    private let style: Style
    private(set) var line = EditedLine()
    private var history = LineHistory()
    /// The number of rows below the last visible one.
    private var scrolled = 0
    private var page = 10
    /// The last message when the chat was drawn; later messages must not move the text that is being read.
    private var newest: ChatMessage.ID?
    /// The column of the cursor, on the last line.
    private(set) var cursor = 0

    init(style: Style) { self.style = style }

    // MARK: - Keys

    /// Processes a key.
    mutating func press(_ key: Key) -> Command? {
        switch key {
        case .enter: return submit()
        case .control("c") where line.isEmpty, .control("d") where line.isEmpty: return .leave
        case .control("z"): return .suspend
        case .control("l"): return .putAwayProblem
        case .control("r"): return .retry
        case .control("x"): return .discard
        case .up where line.isEmpty, .pageUp:
            scrolled += max(1, page / 2)
            return .loadEarlier
        case .down where line.isEmpty, .pageDown: scrolled = max(0, scrolled - max(1, page / 2))
        default: line.edit(key, &history)
        }
        return nil
    }

    private mutating func submit() -> Command? {
        let text = line.text
        guard text.contains(where: { !$0.isWhitespace }) else { return nil }
        history.add(text)
        line.replace(with: "")
        scrolled = 0
        return .send(text)
    }

    /// Puts a rejected text back into the input line, unless the line is already in use.
    mutating func restore(_ text: String) { if line.isEmpty { line.replace(with: text) } }

    // MARK: - Drawing

    /// Returns all lines of a picture of this size; no line is wider than `columns`.
    mutating func lines(_ picture: Picture, columns: Int, height: Int) -> [String] {
        page = max(1, height - 4)
        let shown = rows(picture, columns)
        let isLive = picture.connection == .live
        let trip = isLive ? picture.roundTrip.map { "  rtt \($0.phrase)" } ?? "" : ""
        let label = Self.cut(picture.connection.label.escapedOnOneLine, max(10, columns / 2))
        let standing = label.columns + trip.columns <= columns / 2 ? label + trip : label
        let names = picture.people.map(\.escapedAsName).joined(separator: ", ")
        let title = Self.cut("\(picture.title.escapedAsName)  \(names)", columns - standing.columns - 2)
        let gap = String(repeating: " ", count: max(1, columns - title.columns - standing.columns))
        var lines = [style.paint(title, .prompt) + gap + style.paint(standing, isLive ? .good : .bad)]
        lines.append(style.paint(String(repeating: "─", count: max(1, columns)), .dim))
        lines += Array(repeating: "", count: page - shown.count) + shown
        lines.append(note(picture, columns))
        lines.append(prompt(columns))
        return lines.suffix(max(1, height))
    }

    /// Returns the visible rows of messages; it formats only as many other rows as it needs to find them.
    private mutating func rows(_ picture: Picture, _ columns: Int) -> [String] {
        if scrolled > 0, let newest, let place = picture.messages.lastIndex(where: { $0.id == newest }) {
            scrolled += picture.messages[(place + 1)...].reduce(0) { $0 + Self.rows(of: $1, columns: columns, style).count }
        }
        newest = picture.messages.last?.id
        var (pieces, count): ([[String]], Int) = ([], 0)
        for message in picture.messages.reversed() where count < page + scrolled {
            let rows = Self.rows(of: message, columns: columns, style)
            pieces.append(rows)
            count += rows.count
        }
        scrolled = max(0, min(scrolled, count - page))
        return pieces.reversed().flatMap(\.self).dropLast(scrolled).suffix(page)
    }

    private func note(_ picture: Picture, _ columns: Int) -> String {
        if let problem = picture.problem {
            let hint = "  (Control-L)"
            return style.paint(Self.cut(problem.escapedOnOneLine, columns - hint.columns) + hint, .bad)
        }
        if scrolled > 0 { return style.paint(Self.cut("\(scrolled.counted("row")) below, ↓ scrolls down", columns), .dim) }
        let failed = picture.messages.count { $0.delivery?.isFailed ?? false }
        if failed > 0 { return style.paint(Self.cut("\(failed) not sent: Control-R sends again, Control-X discards", columns), .bad) }
        guard !picture.typing.isEmpty else {
            return style.paint(Self.cut((picture.hasEarlier ? "↑ older messages, " : "") + "Control-C ends", columns), .dim)
        }
        let names = picture.typing.prefix(3).map(\.escapedAsName).joined(separator: ", ")
        return style.paint(Self.cut("\(names) \(picture.typing.count == 1 ? "is" : "are") typing…", columns), .note)
    }

    /// Returns the input line, with room for the cursor at its end.
    private mutating func prompt(_ columns: Int) -> String {
        let (left, right) = line.row(columns: max(1, columns - Self.prompt.columns - 1))
        cursor = Self.prompt.columns + left.columns
        return style.paint(Self.prompt, .prompt) + left + right
    }

    /// Returns the rows of one message: time, author and text, with the delivery mark on the last row.
    static func rows(of message: ChatMessage, columns: Int, _ style: Style) -> [String] {
        let who = message.isOwn ? "you" : message.user?.text.escapedAsName ?? "?"
        let head = "\(TimeOfDay.minutes(of: message.at)) \(cut(who, max(4, columns / 3))): "
        let words = message.isDeleted ? "(deleted)" : message.text.escapedForTerminal(indent: "").replacing("\t", with: "    ")
        let tail =
            message.reactions.map { " \($0.key.escapedOnOneLine)\($0.users.count > 1 ? String($0.users.count) : "")" }.joined()
            + (message.isEdited ? " (edited)" : "")
        let tick = message.delivery.map { " \($0.tick)" } ?? ""
        let width = max(8, columns - head.columns - tick.columns - 1)
        var rows = wrapped(words + tail, width)
        let indent = String(repeating: " ", count: head.columns)
        let isBad = message.delivery?.isFailed ?? false
        for place in rows.indices {
            let text = message.isDeleted || message.seq == nil ? style.paint(rows[place], .dim) : rows[place]
            rows[place] = (place == 0 ? style.paint(head, message.isOwn ? .sent : .received) : indent) + text
        }
        rows[rows.count - 1] += style.paint(tick, isBad ? .bad : .dim)
        if case .failed(let reason)? = message.delivery { rows.append(indent + style.paint(cut(reason.escapedOnOneLine, width), .bad)) }
        return rows
    }

    /// Wraps text into rows, between words where possible; returns at least one row.
    static func wrapped(_ text: String, _ columns: Int) -> [String] {
        var rows: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var (row, used, gap) = ("", 0, "")
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
                let width = gap.utf8.count + word.columns
                if used + width <= columns {
                    row += gap + word
                    (used, gap) = (used + width, " ")
                    continue
                }
                if !row.isEmpty { rows.append(row) }
                (row, used, gap) = ("", 0, " ")
                for character in word {
                    if used + character.columns > columns {
                        rows.append(row)
                        (row, used) = ("", 0)
                    }
                    row.append(character)
                    used += character.columns
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

extension ChatDelivery {
    /// Whether the message has failed, so that somebody has to retry or discard it.
    var isFailed: Bool { if case .failed = self { true } else { false } }
}
