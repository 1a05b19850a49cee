import Dispatch
import Foundation

/// The terminal's raw mode: every key arrives at once, and the terminal gets its old settings back however the process ends.
enum RawMode {
    /// What else changes about the terminal meanwhile: what turns it on, and off again.
    struct Use: Sendable {
        /// A line is edited: what is pasted comes between marks.
        static let prompt = Use(on: "\u{1B}[?2004h", off: "\u{1B}[?2004l")
        /// The whole screen is drawn, without a cursor and without wrapping; what stood there before comes back.
        static let screen = Use(on: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l", off: "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        /// The same with a line to edit on it.
        static let conversation = Use(
            on: "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h", off: "\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")

        let on: StaticString
        let off: StaticString
    }
    /// A crash or a signal that nothing else catches must not leave the shell without echo.
    private static let fatalSignals = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP]

    // SAFETY: written by `enter` before the handlers that read it are installed, and only there.
    private nonisolated(unsafe) static var original = termios()
    // SAFETY: the same.
    private nonisolated(unsafe) static var use = Use.prompt
    // SAFETY: a sig_atomic_t is what C lets a signal handler share with the program.
    private nonisolated(unsafe) static var isActive: sig_atomic_t = 0
    // SAFETY: each slot is written once, before its signal's handler can run.
    private nonisolated(unsafe) static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    private static let restoreAtExit: Bool = atexit { RawMode.leave() } == 0

    /// Enters raw mode on standard input; false when that is no terminal.
    static func enter(for use: Use = .prompt) -> Bool {
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

    /// Gives the terminal back; harmless when raw mode is off.
    ///
    /// Safe in a signal handler.
    static func leave() {
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

    /// Gives the terminal back and lets whoever handled the signal before (a backtracer, the system) have it.
    private static let die: @convention(c) (Int32) -> Void = { signal in
        RawMode.leave()
        sigaction(signal, RawMode.previous + Int(signal), nil)
        raise(signal)
    }
}

/// Signals as a stream, so that they are handled like every other event.
enum Signals {
    /// The signals that ask the process to end.
    static let ending = [SIGINT, SIGTERM, SIGHUP]
    /// The terminal has another size.
    static let windowChange = SIGWINCH

    /// The numbers of these signals as they arrive; their default action is off from here on.
    static func stream(of numbers: [Int32]) -> AsyncStream<Int32> {
        AsyncStream { continuation in
            // SAFETY: set up here and only cancelled later; Dispatch lets any thread cancel a source.
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

    /// Waits for the first signal that asks the process to end; the next one ends it at once.
    static func firstEnding() async -> Outcome? {
        for await number in stream(of: ending) {
            ending.forEach { signal($0, SIG_DFL) }
            return number == SIGINT ? .interrupted : .terminated
        }
        return nil
    }

    /// Stops this process as Control-Z does, and returns when it is continued.
    static func suspendProcess() { raise(SIGTSTP) }
}
