/// The lines sent so far, oldest first, and where the person is in them.
///
/// It lives in memory only: messages often carry secrets, and a file would keep them.
struct LineHistory: Hashable, Sendable {
    private(set) var lines: [String] = []
    /// Index into `lines`; `lines.count` is the line being typed.
    private var position = 0
    private var draft = ""
    private let limit: Int

    /// Remembers at most `limit` lines.
    init(limit: Int = 1000) { self.limit = max(1, limit) }

    /// Remembers a line, unless it repeats the last one, and goes back to the newest end.
    mutating func add(_ line: String) {
        if line != lines.last { lines.append(line) }
        if lines.count > limit { lines.removeFirst(lines.count - limit) }
        (position, draft) = (lines.count, "")
    }

    /// The line before; `current` is kept as a draft when it is the one being typed.
    mutating func older(than current: String) -> String? {
        guard position > 0 else { return nil }
        if position == lines.count { draft = current }
        position -= 1
        return lines[position]
    }

    /// The line after, at last the draft; nil at the newest end.
    mutating func newer() -> String? {
        guard position < lines.count else { return nil }
        position += 1
        return position == lines.count ? draft : lines[position]
    }
}
