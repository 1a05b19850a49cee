import HoldfastTerminal

/// A line editor with a prompt: turns keys and incoming lines into screen updates, and keeps its line while others are printed above it.
///
/// It does no I/O. The prompt takes exactly one row and scrolls sideways, so that erasing it does not depend on how the terminal wrapped
/// it.
struct LineEditor: Hashable, Sendable {
    enum Input: Hashable, Sendable {
        /// Draw the prompt: at the start, and after a suspension.
        case show
        /// Erase the prompt: before the program leaves the terminal to others.
        case hide
        case key(Key)
        /// A line (or several) to print above the prompt.
        case incoming(String)
        case resized(columns: Int)
    }

    enum Effect: Hashable, Sendable {
        case write(String)
        case submit(String)
        /// Control-C on an empty line.
        case interrupt
        /// Control-D on an empty line.
        case endOfInput
        /// Control-Z.
        case suspend
    }

    let prompt: String
    let style: Style
    private(set) var columns: Int
    private(set) var line = EditedLine()
    private(set) var history = LineHistory()
    private(set) var isShown = false

    /// Creates an editor; a width of less than 2 columns counts as 80.
    init(prompt: String = "> ", columns: Int, style: Style = .plain) {
        (self.prompt, self.style) = (prompt, style)
        self.columns = columns >= 2 ? columns : 80
    }

    mutating func handle(_ input: Input, into effects: inout [Effect]) {
        switch input {
        case .show:
            isShown = true
            effects.append(.write(promptRow))
        case .hide:
            if isShown { effects.append(.write(Self.eraseRow)) }
            isShown = false
        case .key(let key): press(key, into: &effects)
        case .incoming(let text):
            let rows = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n") + "\r\n"
            effects.append(.write(isShown ? Self.eraseRow + rows + promptRow : rows))
        case .resized(let columns):
            guard columns >= 2 else { return }
            self.columns = columns
            redraw(into: &effects)
        }
    }

    private mutating func press(_ key: Key, into effects: inout [Effect]) {
        switch key {
        case .enter: submit(into: &effects)
        case .control("c") where line.isEmpty: effects.append(.interrupt)
        case .control("d") where line.isEmpty: effects.append(.endOfInput)
        case .control("z"): effects.append(.suspend)
        case .control("l"):
            if isShown { effects.append(.write("\u{1B}[H\u{1B}[2J" + promptRow)) }
        default:
            let before = line
            line.edit(key, &history)
            if line != before { redraw(into: &effects) }
        }
    }

    /// Submits the line; an empty line sends nothing, because people press Enter to make room.
    private mutating func submit(into effects: inout [Effect]) {
        let text = line.text
        guard !text.isEmpty else { return }
        history.add(text)
        line.replace(with: "")
        redraw(into: &effects)
        effects.append(.submit(text))
    }

    private func redraw(into effects: inout [Effect]) {
        if isShown { effects.append(.write(promptRow)) }
    }

    static let eraseRow = "\r\u{1B}[K"

    /// The output that draws the prompt row over the current row and puts the cursor in its place.
    ///
    /// The last column stays free: a character there makes terminals wrap, some at once and some later.
    var promptRow: String {
        let (left, right) = line.row(columns: max(1, columns - prompt.columns - 1))
        let cursor = prompt.columns + left.columns
        return "\r" + style.paint(prompt, .prompt) + left + right + "\u{1B}[K\r" + (cursor > 0 ? "\u{1B}[\(cursor)C" : "")
    }
}

/// The line being typed, with the position of the cursor.
///
/// It consists of two strings with the cursor between them: characters made of several scalars stay whole, and a combining mark joins the
/// character before it.
struct EditedLine: Hashable, Sendable {
    private(set) var before = ""
    private(set) var after = ""
    /// The text that the last kill command cut, for ``yank()``.
    private(set) var killed = ""

    var text: String { before + after }
    var isEmpty: Bool { before.isEmpty && after.isEmpty }

    mutating func insert(_ text: String) { before += text }

    /// Replaces the whole line; the cursor goes to its end.
    mutating func replace(with text: String) { (before, after) = (text, "") }

    mutating func moveLeft() { if let character = before.popLast() { after.insert(character, at: after.startIndex) } }
    mutating func moveRight() { if !after.isEmpty { before.append(after.removeFirst()) } }
    mutating func moveToStart() { (before, after) = ("", text) }
    mutating func moveToEnd() { (before, after) = (text, "") }

    mutating func moveWordLeft() {
        let start = Self.startOfLastWord(in: before)
        after = before[start...] + after
        before = String(before[..<start])
    }

    mutating func moveWordRight() {
        let end = Self.endOfFirstWord(in: after)
        before += after[..<end]
        after = String(after[end...])
    }

    mutating func deleteBackward() { _ = before.popLast() }
    mutating func deleteForward() { if !after.isEmpty { after.removeFirst() } }

    mutating func killToStart() {
        killed = before
        before = ""
    }

    mutating func killToEnd() {
        killed = after
        after = ""
    }

    /// Cuts back to the last space, as shells do: a whole URL or JSON token is removed at once.
    mutating func killTokenBackward() {
        let trimmed = before.lastIndex { !$0.isWhitespace }.map { before[...$0] } ?? ""
        let start = trimmed.lastIndex(where: \.isWhitespace).map { before.index(after: $0) } ?? before.startIndex
        killed = String(before[start...])
        before = String(before[..<start])
    }

    mutating func killWordForward() {
        let end = Self.endOfFirstWord(in: after)
        killed = String(after[..<end])
        after = String(after[end...])
    }

    mutating func yank() { before += killed }

    private static func startOfLastWord(in text: String) -> String.Index {
        guard let last = text.lastIndex(where: \.isWordPart) else { return text.startIndex }
        return text[..<last].lastIndex { !$0.isWordPart }.map { text.index(after: $0) } ?? text.startIndex
    }

    private static func endOfFirstWord(in text: String) -> String.Index {
        guard let first = text.firstIndex(where: \.isWordPart) else { return text.endIndex }
        return text[first...].firstIndex { !$0.isWordPart } ?? text.endIndex
    }

    /// Edits the line as a shell does for this key; keys for the program change nothing.
    mutating func edit(_ key: Key, _ history: inout LineHistory) {
        switch key {
        case .text(let text), .paste(let text): insert(text)
        case .tab: insert("\t")
        case .backspace, .control("h"): deleteBackward()
        case .delete, .control("d"): deleteForward()
        case .left, .control("b"): moveLeft()
        case .right, .control("f"): moveRight()
        case .home, .control("a"): moveToStart()
        case .end, .control("e"): moveToEnd()
        case .wordLeft, .alt("b"): moveWordLeft()
        case .wordRight, .alt("f"): moveWordRight()
        case .up, .control("p"): if let text = history.older(than: text) { replace(with: text) }
        case .down, .control("n"): if let text = history.newer() { replace(with: text) }
        case .control("k"): killToEnd()
        case .control("u"): killToStart()
        case .control("w"): killTokenBackward()
        case .alt("d"): killWordForward()
        case .control("y"): yank()
        case .control("c"): replace(with: "")
        case .enter, .pageUp, .pageDown, .control, .alt: break
        }
    }

    /// Returns the visible part of the line on a row of this width: the text before the cursor and the text after it.
    ///
    /// The line scrolls sideways, and only its visible part is examined.
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

    /// Returns the visible form of a character: control characters become their symbols (U+2400 block), one column each.
    private static func picture(of character: Character) -> String {
        guard let scalar = character.unicodeScalars.first else { return "" }
        if character == "\r\n" { return "\u{240A}" }
        if scalar.value < 0x20, let picture = UnicodeScalar(0x2400 + scalar.value) { return String(picture) }
        if scalar.value == 0x7F { return "\u{2421}" }
        return character.unicodeScalars.contains(where: \.drivesTerminal) ? "\u{FFFD}" : String(character)
    }
}

extension Character {
    fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" }
}

/// The lines sent so far, oldest first, and the current position in them.
///
/// They are only in memory: messages often carry secrets, and a file would keep them.
struct LineHistory: Hashable, Sendable {
    private(set) var lines: [String] = []
    /// Index into `lines`; `lines.count` is the line being typed.
    private var position = 0
    private var draft = ""
    private let limit: Int

    /// Creates a history of at most `limit` lines.
    init(limit: Int = 1000) { self.limit = max(1, limit) }

    /// Adds a line, unless it repeats the last one, and moves the position to the end.
    mutating func add(_ line: String) {
        if line != lines.last { lines.append(line) }
        if lines.count > limit { lines.removeFirst(lines.count - limit) }
        (position, draft) = (lines.count, "")
    }

    /// Returns the previous line; `current` is kept as a draft if it is the line being typed.
    mutating func older(than current: String) -> String? {
        guard position > 0 else { return nil }
        if position == lines.count { draft = current }
        position -= 1
        return lines[position]
    }

    /// Returns the next line, and finally the draft; nil at the end.
    mutating func newer() -> String? {
        guard position < lines.count else { return nil }
        position += 1
        return position == lines.count ? draft : lines[position]
    }
}
