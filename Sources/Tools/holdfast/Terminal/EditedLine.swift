/// The line being typed and the place of the cursor in it.
///
/// Two strings with the cursor between them: characters made of several scalars stay whole, and a combining mark joins the
/// character it is typed after.
struct EditedLine: Hashable, Sendable {
    private(set) var before = ""
    private(set) var after = ""
    /// The text last cut by a killing command, for ``yank()``.
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

    /// Cuts back to the last space, as shells do: a whole URL or JSON token goes at once.
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
}

extension Character {
    fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" }
}
