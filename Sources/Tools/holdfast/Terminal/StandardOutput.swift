import Foundation

/// Whole writes to standard output and standard error.
enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Columns of the terminal, or 0 when it does not say.
    static var columns: Int { columns(of: STDOUT_FILENO) }

    /// The same of another file.
    static func columns(of file: Int32) -> Int {
        size(of: file).columns
    }

    /// Columns and rows of the terminal, or 0 when it does not say.
    static func size(of file: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int) {
        var size = winsize()
        return ioctl(file, UInt(TIOCGWINSZ), &size) == 0 ? (Int(size.ws_col), Int(size.ws_row)) : (0, 0)
    }

    /// Writes all of the text.
    ///
    /// When the reader of a pipe is gone the process ends as SIGPIPE would end it: nobody is left to tell.
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
