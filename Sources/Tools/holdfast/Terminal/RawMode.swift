import Foundation

/// The terminal's raw mode: every key arrives at once, and the terminal gets its old settings back however the process ends.
enum RawMode {
    private static let pasteOn = "\u{1B}[?2004h"
    private static let pasteOff: StaticString = "\u{1B}[?2004l"
    /// A crash or a signal that nothing else catches must not leave the shell without echo.
    private static let fatalSignals = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP]

    // SAFETY: written by `enter` before the handlers that read it are installed, and only there.
    private nonisolated(unsafe) static var original = termios()
    // SAFETY: a sig_atomic_t is what C lets a signal handler share with the program.
    private nonisolated(unsafe) static var isActive: sig_atomic_t = 0
    // SAFETY: each slot is written once, before its signal's handler can run.
    private nonisolated(unsafe) static let previous = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    private static let restoreAtExit: Bool = atexit { RawMode.leave() } == 0

    /// Enters raw mode on standard input; false when that is no terminal.
    static func enter() -> Bool {
        guard isActive == 0, tcgetattr(STDIN_FILENO, &original) == 0 else { return isActive != 0 }
        _ = restoreAtExit
        var raw = original
        raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { return false }
        isActive = 1
        catchFatalSignals()
        StandardOutput.write(pasteOn)
        return true
    }

    /// Gives the terminal back; harmless when raw mode is off.
    ///
    /// Safe in a signal handler.
    static func leave() {
        guard isActive != 0 else { return }
        isActive = 0
        _ = write(STDOUT_FILENO, pasteOff.utf8Start, pasteOff.utf8CodeUnitCount)
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
