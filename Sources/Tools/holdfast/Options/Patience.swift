import ArgumentParser

/// How long to go on receiving after the last line was sent.
enum Patience: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    /// Until nothing has come for this long.
    case quiet(Duration)
    /// Until the peer closes, or a signal comes.
    case forever

    /// Reads seconds, or `forever`.
    init?(argument: String) {
        if argument == "forever" {
            self = .forever
        } else if let seconds = Seconds(argument: argument) {
            self = .quiet(seconds.duration)
        } else {
            return nil
        }
    }

    /// As it is written on the command line, for the help.
    var description: String {
        switch self {
        case .quiet(let duration): duration.phrase
        case .forever: "forever"
        }
    }
}
