/// What a development server says on standard error, one line per event.
struct ServerLog: Sendable {
    let style: Style
    let isQuiet: Bool

    func note(_ text: String) {
        if !isQuiet { write(text) }
    }

    func problem(_ text: String) { write(style.paint(text.escapedOnOneLine, .bad)) }

    private func write(_ text: String) { StandardOutput.warn(style.paint(TimeOfDay.now, .dim) + " " + text) }
}
