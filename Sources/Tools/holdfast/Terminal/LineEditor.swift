/// A prompt whose line survives whatever is printed above it: keys and arriving lines in, screen updates out.
///
/// It does no I/O. The prompt takes exactly one row and scrolls sideways, so that erasing it never needs to know how the
/// terminal wrapped it.
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

    /// A terminal that claims fewer columns than 2 is taken for a common one.
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

    /// An empty line sends nothing: pressing Enter to make room is a habit, not a message.
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
}
