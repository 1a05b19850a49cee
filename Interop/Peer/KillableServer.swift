import Foundation
import Holdfast
import HoldfastTesting

/// A server of others, which is started and killed with -9 at the same port again and again.
///
/// It writes what it carries out into a file, a line each.
// SAFETY: one task starts and kills the server.
final class KillableServer: @unchecked Sendable {
    let port = Int.random(in: 12_000..<30_000)
    private let command: [String]
    private let file: String
    private let isReady: @Sendable (Int) async throws -> Void
    private var process = Process()

    /// - Parameters:
    ///   - command: Starts the server, followed by a port and the file.
    ///   - isReady: Throws as long as the server at this port accepts no connection.
    init(_ command: [String], file: String, isReady: @escaping @Sendable (Int) async throws -> Void) {
        (self.command, self.file, self.isReady) = (command, file, isReady)
    }

    /// What the server has carried out.
    var lines: [String] { get throws { try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init) } }

    func start() async throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = [command[1], "\(port)", file]
        // It reports each client that goes away.
        process.standardError = FileHandle.nullDevice
        // A `Process` needs a thread with a permanent run loop.
        try await MainActor.run { try process.run() }
        let end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end {
            do { return try await isReady(port) } catch { try await Task.sleep(for: .milliseconds(50)) }
        }
        throw Suite.Failure(description: "the server does not start")
    }

    func kill() async throws {
        Foundation.kill(process.processIdentifier, SIGKILL)
        try await eventually("the server ends") { !self.process.isRunning }
    }
}
