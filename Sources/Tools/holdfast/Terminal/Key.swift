/// What the person at the terminal did: one key, one run of typed text, or one paste.
enum Key: Hashable, Sendable {
    /// Printable characters, as typed.
    case text(String)
    /// Text between the marks of bracketed paste; it may hold line ends.
    case paste(String)
    /// Control and a lower-case letter.
    case control(Character)
    /// Alt (or Escape) and a character.
    case alt(Character)
    case enter, tab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    case wordLeft, wordRight
}
