import Foundation
import Holdfast
import HoldfastTerminal
import MachineCore

/// Owns the terminal: prints messages and notes, and keeps the prompt below them.
///
/// With a prompt, everything goes to standard output, above the line being typed. Without one, messages go to standard output and notes
/// to standard error, so that a pipe gets only messages.
actor Console {
    let format: MessageFormat
    private let isQuiet: Bool
    private let hasTimestamps: Bool
    private let noteStyle: Style
    /// Whether there is a terminal for a status line.
    let showsStatus: Bool
    private var editor: LineEditor?
    private var decoder = KeyDecoder()
    /// The status line below all printed lines and above the prompt; empty: none.
    private var status = ""
    /// When the last message arrived.
    private(set) var lastReceived: ContinuousClock.Instant?

    init(format: MessageFormat, isInteractive: Bool, isQuiet: Bool, hasTimestamps: Bool, noteStyle: Style, showsStatus: Bool) {
        (self.format, self.isQuiet, self.hasTimestamps, self.noteStyle) = (format, isQuiet, hasTimestamps, noteStyle)
        self.showsStatus = showsStatus
        editor = isInteractive ? LineEditor(columns: StandardOutput.columns, style: format.style) : nil
    }

    /// Enters raw mode and draws the prompt; does nothing without a prompt.
    func open() {
        guard editor != nil, RawMode.enter() else { return }
        apply(.show)
    }

    /// Erases the prompt and restores the terminal.
    func close() {
        show(status: "")
        apply(.hide)
        RawMode.leave()
    }

    /// Runs the body with the prompt.
    func whileOpen(_ body: @Sendable () async throws -> Void) async rethrows {
        open()
        defer { close() }
        try await body()
    }

    func show(_ message: Message, _ direction: MessageFormat.Direction) {
        if direction == .received { lastReceived = .now }
        let text = format.text(of: message, direction, stamp: stamp)
        print { if editor != nil { apply(.incoming(text)) } else { StandardOutput.write(text + "\n") } }
    }

    /// Shows a new status line.
    func show(status text: String) {
        let columns = editor?.columns ?? StandardOutput.columns(of: STDERR_FILENO)
        // At most one row, because a longer one could not be erased.
        print(status: String(text.prefix(columns > 1 ? columns - 1 : 79)))
    }

    /// Prints lines that the user asked for.
    func notify(_ lines: [String]) {
        for line in lines { print(line: noteStyle.paint("* " + line, .note)) }
    }

    /// Prints a note of the tool; `--quiet` leaves out everything but errors.
    func note(_ text: String, _ part: Style.Part = .note) {
        guard !isQuiet || part == .bad else { return }
        let time = stamp.isEmpty ? "" : noteStyle.paint(stamp, .dim) + " "
        print(line: time + noteStyle.paint("* " + text, part))
    }

    private func print(line: String) {
        print { if editor != nil { apply(.incoming(line)) } else { StandardOutput.warn(line) } }
    }

    /// Prints above the status line, and redraws it.
    private func print(status new: String? = nil, _ body: () -> Void = {}) {
        guard !status.isEmpty || !(new ?? "").isEmpty else { return body() }
        let isPromptShown = editor?.isShown ?? false
        if isPromptShown { apply(.hide) }
        if !status.isEmpty { write(status: editor == nil ? LineEditor.eraseRow : "\u{1B}[A" + LineEditor.eraseRow) }
        body()
        if let new { status = new }
        let row = noteStyle.paint(status, .dim)
        if !status.isEmpty { write(status: editor == nil ? row : row + "\r\n") }
        if isPromptShown { apply(.show) }
    }

    private func write(status: String) { StandardOutput.write(status, to: editor == nil ? STDERR_FILENO : STDOUT_FILENO) }

    /// Processes bytes from the keyboard; returns the effects other than editing.
    func type(_ bytes: [UInt8]) -> [LineEditor.Effect] {
        decoder.decode(bytes).flatMap { apply(.key($0)) }
    }

    func windowChanged() { apply(.resized(columns: StandardOutput.columns)) }

    /// Suspends the process as Control-Z does: the shell gets its terminal, and the prompt comes back with the job.
    func suspend() {
        close()
        Signals.suspendProcess()
        open()
        windowChanged()
    }

    private var stamp: String { hasTimestamps ? TimeOfDay.now : "" }

    @discardableResult private func apply(_ input: LineEditor.Input) -> [LineEditor.Effect] {
        guard var editor else { return [] }
        var effects: [LineEditor.Effect] = []
        editor.handle(input, into: &effects)
        self.editor = editor
        var output = ""
        effects.removeAll { effect in
            guard case .write(let text) = effect else { return false }
            output += text
            return true
        }
        StandardOutput.write(output)
        return effects
    }

    /// Prints the result of the handshake.
    func note(_ connection: WebSocketConnection, to url: WebSocketURL) {
        let parts =
            ["connected to \(url)"] + (connection.subprotocol.map { ["subprotocol \(Secrecy.subprotocol($0))"] } ?? [])
            + (connection.compression == nil ? [] : ["permessage-deflate"])
        note(parts.joined(separator: ", "), .good)
    }

    /// Prints an error.
    func note(_ error: WebSocketError) {
        for line in error.lines { note(line, .bad) }
    }
}
