import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct LineEditorExplorationTests {
    private static let inputs: [LineEditor.Input] = [
        .key(.text("ab cd")), .key(.text("日")), .key(.paste("x\ny\u{1B}")), .key(.left), .key(.home), .key(.wordLeft), .key(.wordRight),
        .key(.backspace), .key(.delete), .key(.control("k")), .key(.control("w")), .key(.control("y")), .key(.up), .key(.down),
        .key(.enter), .incoming("news"), .resized(columns: 7), .resized(columns: 12), .hide, .show,
    ]

    /// Every sequence of inputs up to this length is tried.
    private static let depth = 3

    @Test func `after every sequence of inputs the prompt is whole, on one row, with its cursor inside`() {
        explore(EditorSession(columns: 12), depth: Self.depth)
    }

    private func explore(_ session: EditorSession, depth: Int) {
        guard depth > 0 else { return }
        for input in Self.inputs {
            var next = session
            next.apply(input)
            check(next, after: input, before: session)
            explore(next, depth: depth - 1)
        }
    }

    private func check(_ session: EditorSession, after input: LineEditor.Input, before: EditorSession) {
        if case .key = input {} else { #expect(session.editor.line == before.editor.line, "\(input) changed the line") }
        guard session.editor.isShown else { return }
        #expect(session.screen.row == session.screen.rows.count - 1)
        #expect(session.screen.lines.last?.hasPrefix(">") == true)
        #expect(session.screen.rows[session.screen.row].count < 12)
        #expect((2..<session.editor.columns).contains(session.screen.column))
        let text = session.editor.line.text
        if text.columns + 3 < session.editor.columns, !text.unicodeScalars.contains(where: \.drivesTerminal) {
            #expect(session.screen.lines.last == ("> " + text).trimmingEnd)
        }
    }
}

extension String {
    fileprivate var trimmingEnd: String { String(reversed().drop { $0 == " " }.reversed()) }
}
