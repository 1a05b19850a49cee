import Holdfast

/// How messages look: one shape for a terminal, one for a pipe.
///
/// On a terminal a mark tells the direction and nothing a peer sends can drive the terminal. Into a pipe text goes
/// unmarked and unchanged, so that `| jq` and `| head` see what the peer sent.
struct MessageFormat: Hashable, Sendable {
    enum Direction: Hashable, Sendable { case sent, received }

    /// Lay JSON out over lines.
    var isJSONPretty = false
    /// Dump binary messages whole.
    var isBinaryDumped = false
    /// The reader is a person at a terminal.
    var isForTerminal: Bool
    var style: Style = .plain

    /// The lines that show a message, without a last line end.
    ///
    /// `stamp` is the time of day, or empty.
    func text(of message: Message, _ direction: Direction, stamp: String = "") -> String {
        let body = body(of: message)
        let time = stamp.isEmpty ? "" : style.paint(stamp, .dim) + " "
        guard isForTerminal else { return time + body }
        let part: Style.Part = direction == .sent ? .sent : .received
        return time + style.paint(direction == .sent ? ">" : "<", part) + " " + body.escapedForTerminal()
    }

    private func body(of message: Message) -> String {
        switch message {
        case .text(let text): isJSONPretty ? JSONLayout.pretty(text) ?? text : text
        case .binary(let bytes) where isBinaryDumped:
            (["binary, " + bytes.count.counted("byte")] + HexDump.rows(of: bytes)).joined(separator: "\n")
        case .binary(let bytes):
            "binary, " + bytes.count.counted("byte") + (bytes.isEmpty ? "" : ": " + HexDump.preview(of: bytes))
        }
    }
}
