import ArgumentParser
import Holdfast

/// Which HTTP a WebSocket begins with.
struct HTTPVersionOptions: ParsableArguments {
    enum Choice: EnumerableFlag {
        case http1, http2, httpAuto

        static func help(for value: Choice) -> ArgumentHelp? {
            switch value {
            case .http1: "Speak HTTP/1.1 only (the default)."
            case .http2: "Speak HTTP/2 only (RFC 8441); without TLS by prior knowledge."
            case .httpAuto: "Speak HTTP/2 where the other side does, otherwise HTTP/1.1."
            }
        }
    }

    @Flag var choice = Choice.http1

    var version: HTTPVersion {
        switch choice {
        case .http1: .http1
        case .http2: .http2
        case .httpAuto: .automatic
        }
    }
}
