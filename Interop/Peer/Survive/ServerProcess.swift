import Foundation

/// A server that is started, stopped, killed and frozen; `COMMAND… survive-server --port N`.
///
/// It keeps its port and its log over all restarts. Its standard input ends with this process, and then the server ends.
actor ServerProcess {
    let port: Int
    private let command: [String]
    private let log: URL
    private var process: Process?
    private var input: Pipe?

    /// A server that is not running yet, on a port outside the range of outgoing connections.
    init(_ command: [String], log: String) throws {
        (self.command, self.log) = (command, URL(fileURLWithPath: log))
        port = .random(in: 12_000..<30_000)
        try FileManager.default.createDirectory(at: self.log.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data().write(to: self.log)
    }

    var url: String { "ws://127.0.0.1:\(port)/" }
    var processName: String { process.map { "\($0.processIdentifier)" } ?? "" }

    /// Starts the server.
    ///
    /// Returns when it listens.
    func start() async throws {
        let lives = lines.count { $0.hasPrefix("listening") }
        let output = try FileHandle(forWritingTo: log)
        defer { try? output.close() }
        try output.seekToEnd()
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command + ["survive-server", "--port", "\(port)"]
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
        // A `Process` needs a thread with a permanent run loop, which holds descriptors.
        try await MainActor.run { try process.run() }
        (self.process, self.input) = (process, input)
        try await eventually("the server listens") { lines.count { $0.hasPrefix("listening") } > lives || !process.isRunning }
        guard process.isRunning else { throw Suite.Failure(description: "the server does not start: \(lines.last ?? "")") }
    }

    /// Kills it with SIGKILL.
    func kill() async throws { try await end(by: SIGKILL) }

    /// Ends it with SIGTERM, as an operator does.
    func end() async throws { try await end(by: SIGTERM) }

    func freeze() { signal(SIGSTOP) }
    func thaw() { signal(SIGCONT) }

    /// The words of all lines with this first word.
    func entries(_ word: String) -> [[Substring]] { lines.map { $0.split(separator: " ") }.filter { $0.first == word[...] } }

    private var lines: [Substring] { ((try? String(contentsOf: log, encoding: .utf8)) ?? "").split(separator: "\n") }

    private func signal(_ number: Int32) {
        if let process, process.isRunning { Foundation.kill(process.processIdentifier, number) }
    }

    private func end(by number: Int32) async throws {
        guard let process else { return }
        signal(number)
        try await eventually("the server ends") { !process.isRunning }
        try? input?.fileHandleForWriting.close()  // Otherwise a `Process` keeps its pipes open after its end.
        (self.process, self.input) = (nil, nil)
    }
}
