/// The log of a development server on standard error, one line per event.
package struct ServerLog: Sendable {
    private let style: Style
    private let isQuiet: Bool

    package init(style: Style, isQuiet: Bool) { (self.style, self.isQuiet) = (style, isQuiet) }

    package func note(_ text: String) {
        if !isQuiet { write(text) }
    }

    package func problem(_ text: String) { write(style.paint(text.escapedOnOneLine, .bad)) }

    private func write(_ text: String) { StandardOutput.warn(style.paint(TimeOfDay.now, .dim) + " " + text) }
}
