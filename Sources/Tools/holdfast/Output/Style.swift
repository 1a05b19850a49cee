/// Colours, or none.
struct Style: Hashable, Sendable {
    /// What a piece of text is, not how it looks.
    enum Part: Hashable, Sendable { case prompt, sent, received, note, good, bad, dim }

    static let plain = Style(isColoured: false)
    static let coloured = Style(isColoured: true)

    let isColoured: Bool

    private init(isColoured: Bool) { self.isColoured = isColoured }

    /// Colours only on a terminal that can show them and whose owner did not refuse them (no-color.org).
    init(isTerminal: Bool, environment: [String: String]) {
        let refused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        isColoured = isTerminal && !refused && environment["TERM"] != "dumb"
    }

    func paint(_ text: String, _ part: Part) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(Self.code(of: part))m\(text)\u{1B}[0m" : text
    }

    /// Only the terminal's own palette, which its owner chose to be readable.
    private static func code(of part: Part) -> String {
        switch part {
        case .prompt: "1"
        case .sent: "34"
        case .received: "36"
        case .note: "33"
        case .good: "32"
        case .bad: "31"
        case .dim: "2"
        }
    }
}
