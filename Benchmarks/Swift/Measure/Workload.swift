import Foundation

/// The task of a client: `MODE PORT SIZE COUNT`.
public struct Workload: Sendable {
    /// The direction of the messages.
    public enum Mode: String, Sendable {
        case ping, receive, send

        /// The path of the server for it.
        public var path: String {
            switch self {
            case .ping: "/echo"
            case .receive: "/blast"
            case .send: "/sink"
            }
        }
    }

    /// The direction of the messages.
    public let mode: Mode
    /// The server's port on this machine.
    public let port: Int
    /// The size of each message in bytes.
    public let size: Int
    /// The number of counted messages.
    public let count: Int

    /// Parses a command line.
    ///
    /// Returns nil for another one.
    public init?(_ words: some Collection<String>) {
        let words = Array(words)
        guard words.count == 4, let mode = Mode(rawValue: words[0]), let port = Int(words[1]), let size = Int(words[2]),
            let count = Int(words[3])
        else { return nil }
        (self.mode, self.port, self.size, self.count) = (mode, port, size, count)
    }

    /// The round trips before the clock starts.
    public var warmUp: Int { min(count / 10 + 1, 2000) }
    /// The text that requests messages.
    public var order: String { "\(count) \(size)" }
    /// The payload of each message sent.
    public var payload: [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: size) }

    /// Ends the program unless both are the same.
    @inline(__always)
    public func check(_ what: StaticString, _ got: Int?, _ wanted: Int) {
        if got != wanted { Self.fail("\(what): \(got.map(String.init) ?? "none") instead of \(wanted)") }
    }

    /// Ends the program.
    public static func fail(_ reason: String) -> Never {
        FileHandle.standardError.write(Data("\(reason)\n".utf8))
        exit(1)
    }
}
