import Foundation
import Holdfast
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

/// Draws pictures of the whole screen.
enum ScreenPicture {
    /// Returns the output that draws these lines over the previous ones, all at once on terminals that support this.
    ///
    /// - Parameter cursor: The column of the visible cursor on the last line, from 0; nil: it stays hidden.
    static func drawing(_ lines: [String], cursor: Int? = nil) -> String {
        let place = cursor.map { "\u{1B}[\(lines.count);\($0 + 1)H\u{1B}[?25h" } ?? ""
        return "\u{1B}[?2026h\u{1B}[?25l\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J" + place + "\u{1B}[?2026l"
    }

    /// The terminal's columns and rows; 80 and 24 if it does not report them.
    ///
    /// It is read again for each picture, so that no event is needed when the window changes.
    static var size: (columns: Int, rows: Int) {
        let size = StandardOutput.size()
        return (size.columns > 0 ? size.columns : 80, size.rows > 0 ? size.rows : 24)
    }
}

/// Writes complete texts to standard output and standard error.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Columns of the terminal, or 0 if it does not report them.
    static var columns: Int { columns(of: STDOUT_FILENO) }

    /// Returns the columns of another file.
    static func columns(of file: Int32) -> Int {
        size(of: file).columns
    }

    /// Returns the columns and rows of the terminal, or 0 if it does not report them.
    static func size(of file: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int) {
        var size = winsize()
        return ioctl(file, UInt(TIOCGWINSZ), &size) == 0 ? (Int(size.ws_col), Int(size.ws_row)) : (0, 0)
    }

    /// Writes all of the text.
    ///
    /// When the reader of a pipe is gone, the process ends as SIGPIPE would end it, because there is no reader left.
    static func write(_ text: String, to file: Int32 = STDOUT_FILENO) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty {
                let count = Foundation.write(file, start, rest.count)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                } else if errno == EAGAIN {
                    var descriptor = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&descriptor, 1, -1)
                } else if errno == EPIPE {
                    RawMode.leave()
                    signal(SIGPIPE, SIG_DFL)
                    raise(SIGPIPE)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    /// Writes a line for people to standard error.
    static func warn(_ line: String) { write(line + "\n", to: STDERR_FILENO) }
}

/// The colours of the output, or none.
struct Style: Hashable, Sendable {
    /// The meaning of a piece of text; the style decides how it looks.
    enum Part: Hashable, Sendable { case prompt, sent, received, note, good, bad, dim }

    static let plain = Style(isColoured: false)
    static let coloured = Style(isColoured: true)

    let isColoured: Bool

    private init(isColoured: Bool) { self.isColoured = isColoured }

    /// Uses colours only on a terminal that supports them and whose owner has not refused them (no-color.org).
    init(isTerminal: Bool, environment: [String: String]) {
        let refused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        isColoured = isTerminal && !refused && environment["TERM"] != "dumb"
    }

    func paint(_ text: String, _ part: Part) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(Self.code(of: part))m\(text)\u{1B}[0m" : text
    }

    /// Uses only the terminal's own palette, which its owner chose to be readable.
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
