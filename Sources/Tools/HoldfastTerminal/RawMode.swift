import Dispatch
import Foundation

/// The terminal's raw mode: every key arrives at once, and the old settings are restored however the process ends.
package enum RawMode {
    /// Further changes of the terminal: the sequences that turn them on and off.
    package struct Use: Sendable {
        /// For editing a line: pasted text is bracketed by marks.
        package static let prompt = Use(on: "\u{1B}[?2004h", off: "\u{1B}[?2004l")
        /// For drawing on the whole screen, without cursor and wrapping; the previous content is restored afterwards.
        package static let screen = Use(on: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l", off: "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        /// Like `screen`, with a line to edit.
        package static let conversation = Use(
            on: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h", off: "\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")

        let on: StaticString
        let off: StaticString
    }
    /// Signals after which the terminal is restored, so that a crash does not leave the shell without echo.
    private static let fatalSignals = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP]

    // SAFETY: only `enter` writes it, before it installs the handlers that read it.
    private nonisolated(unsafe) static var original = termios()
    // SAFETY: the same as for `original`.
    private nonisolated(unsafe) static var use = Use.prompt
    // SAFETY: C lets a signal handler share a sig_atomic_t with the program.
    private nonisolated(unsafe) static var isActive: sig_atomic_t = 0
    // SAFETY: each slot is written once, before the handler of its signal can run.
    private nonisolated(unsafe) static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    private static let restoreAtExit: Bool = atexit { RawMode.leave() } == 0

    /// Enters raw mode on standard input; returns false if it is not a terminal.
    package static func enter(for use: Use = .prompt) -> Bool {
        guard isActive == 0, tcgetattr(STDIN_FILENO, &original) == 0 else { return isActive != 0 }
        _ = restoreAtExit
        var raw = original
        raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { return false }
        Self.use = use
        isActive = 1
        catchFatalSignals()
        StandardOutput.write("\(use.on)")
        return true
    }

    /// Restores the terminal; does nothing if raw mode is off.
    ///
    /// It is safe in a signal handler.
    package static func leave() {
        guard isActive != 0 else { return }
        isActive = 0
        _ = write(STDOUT_FILENO, use.off.utf8Start, use.off.utf8CodeUnitCount)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &original)
    }

    private static func catchFatalSignals() {
        for signal in fatalSignals {
            var action = sigaction()
            #if canImport(Darwin)
                action.__sigaction_u.__sa_handler = RawMode.die
            #else
                action.__sigaction_handler.sa_handler = RawMode.die
            #endif
            var before = sigaction()
            sigaction(signal, &action, &before)
            (previous + Int(signal)).initialize(to: before)
        }
    }

    /// Restores the terminal and passes the signal to the previous handler (a backtracer, or the system).
    private static let die: @convention(c) (Int32) -> Void = { signal in
        RawMode.leave()
        sigaction(signal, RawMode.previous + Int(signal), nil)
        raise(signal)
    }
}

/// Signals as a stream, so that they are handled like every other event.
package enum Signals {
    /// The signals that ask the process to end.
    package static let ending = [SIGINT, SIGTERM, SIGHUP]
    /// The signal for a changed window size.
    package static let windowChange = SIGWINCH

    /// Returns these signals as they arrive; turns their default action off.
    package static func stream(of numbers: [Int32]) -> AsyncStream<Int32> {
        AsyncStream { continuation in
            // SAFETY: set up here and only cancelled later; Dispatch allows any thread to cancel a source.
            nonisolated(unsafe) let sources = numbers.map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler { continuation.yield(number) }
                source.resume()
                return source
            }
            continuation.onTermination = { _ in sources.forEach { $0.cancel() } }
        }
    }

    /// Waits for the first signal that asks the process to end; the next one ends the process at once.
    package static func firstEnding() async -> Outcome? {
        for await number in stream(of: ending) {
            ending.forEach { signal($0, SIG_DFL) }
            return number == SIGINT ? .interrupted : .terminated
        }
        return nil
    }

    /// Stops this process as Control-Z does, and returns when it is continued.
    package static func suspendProcess() { raise(SIGTSTP) }
}
