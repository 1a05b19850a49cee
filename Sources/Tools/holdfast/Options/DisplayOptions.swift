import ArgumentParser
import Foundation

/// What decides how messages and notes look.
struct DisplayOptions: ParsableArguments {
    @Flag(help: "Lay messages that are JSON out over several lines.")
    var json = false

    @Flag(help: "Dump binary messages in hexadecimal.")
    var hex = false

    @Flag(name: [.short, .long], help: "Print the local time before every message and note.")
    var timestamps = false

    @Flag(name: [.short, .long], help: "Print messages and errors only.")
    var quiet = false

    /// A console for these options, with a prompt if `isInteractive`.
    func console(isInteractive: Bool, environment: [String: String]) -> Console {
        let isTerminal = StandardOutput.isTerminal
        let style = Style(isTerminal: isTerminal, environment: environment)
        let errorStyle = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        return Console(
            format: MessageFormat(isJSONPretty: json, isBinaryDumped: hex, isForTerminal: isTerminal, style: style),
            isInteractive: isInteractive, isQuiet: quiet, hasTimestamps: timestamps, noteStyle: isInteractive ? style : errorStyle,
            showsStatus: isInteractive || (isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"))
    }
}
