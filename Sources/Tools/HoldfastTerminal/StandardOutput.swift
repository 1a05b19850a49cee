import Foundation

/// Draws pictures of the whole screen.
package enum ScreenPicture {
    /// Returns the output that draws these lines over the previous ones, all at once on terminals that support this.
    ///
    /// - Parameter cursor: The column of the visible cursor on the last line, from 0; nil: it stays hidden.
    package static func drawing(_ lines: [String], cursor: Int? = nil) -> String {
        let place = cursor.map { "\u{1B}[\(lines.count);\($0 + 1)H\u{1B}[?25h" } ?? ""
        return "\u{1B}[?2026h\u{1B}[?25l\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J" + place + "\u{1B}[?2026l"
    }

    /// The terminal's columns and rows; 80 and 24 if it does not report them.
    ///
    /// It is read again for each picture, so that no event is needed when the window changes.
    package static var size: (columns: Int, rows: Int) {
        let size = StandardOutput.size()
        return (size.columns > 0 ? size.columns : 80, size.rows > 0 ? size.rows : 24)
    }
}

/// Writes complete texts to standard output and standard error.
package enum StandardOutput {
    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Columns of the terminal, or 0 if it does not report them.
    package static var columns: Int { columns(of: STDOUT_FILENO) }

    /// Returns the columns of another file.
    package static func columns(of file: Int32) -> Int {
        size(of: file).columns
    }

    /// Returns the columns and rows of the terminal, or 0 if it does not report them.
    package static func size(of file: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int) {
        var size = winsize()
        return ioctl(file, UInt(TIOCGWINSZ), &size) == 0 ? (Int(size.ws_col), Int(size.ws_row)) : (0, 0)
    }

    /// Writes all of the text.
    ///
    /// When the reader of a pipe is gone, the process ends as SIGPIPE would end it, because there is no reader left.
    package static func write(_ text: String, to file: Int32 = STDOUT_FILENO) {
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
    package static func warn(_ line: String) { write(line + "\n", to: STDERR_FILENO) }
}

/// The colours of the output, or none.
package struct Style: Hashable, Sendable {
    /// The meaning of a piece of text; the style decides how it looks.
    package enum Part: Hashable, Sendable { case prompt, sent, received, note, good, bad, dim }

    package static let plain = Style(isColoured: false)
    package static let coloured = Style(isColoured: true)

    package let isColoured: Bool

    private init(isColoured: Bool) { self.isColoured = isColoured }

    /// Uses colours only on a terminal that supports them and whose owner has not refused them (no-color.org).
    package init(isTerminal: Bool, environment: [String: String]) {
        let refused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        isColoured = isTerminal && !refused && environment["TERM"] != "dumb"
    }

    package func paint(_ text: String, _ part: Part) -> String {
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
