import Dispatch
import Foundation

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
