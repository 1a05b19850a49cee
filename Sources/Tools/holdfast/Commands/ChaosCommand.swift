import ArgumentParser
import Foundation
import HoldfastTerminal
import HoldfastTesting

struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Put a bad network between a client and a server.",
        discussion: """
            Listens on 127.0.0.1 and relays to --to. Meanwhile it applies the faults of --script to the connections, prints every fault \
            with its time, and continues to relay after the last one. Bytes are neither changed nor sent twice. The link holds a few \
            hundred KiB at most: a faster sender has to wait.

            The same script and --seed give the same faults at the same times. SIGINT (Control-C), SIGTERM and the end of --duration \
            print the totals, and end the command with status 0.

            THE LANGUAGE OF SCRIPTS:
            \(FaultScript.grammar)

            EXAMPLE:
              holdfast chaos --listen 9100 --to localhost:9001 --script \\
                'delay 20ms..80ms; every 5s..9s cut rst; at 20s stall 8s'

            \(Outcome.table)
            """)

    @Option(name: [.short, .long], help: "The port of 127.0.0.1 to listen on; 0 for any free one.")
    var listen: Int

    @Option(help: ArgumentHelp("The address of the server, such as localhost:9001 or [::1]:9001.", valueName: "host:port"))
    var to: HostAndPort

    @Option(
        help: ArgumentHelp("The faults and their times, in the language above; @file reads it from a file.", valueName: "script"),
        transform: ScriptArgument.parse)
    var script: FaultScript

    @Option(help: "The seed for random choices (default: a random one, which is printed).")
    var seed: UInt64?

    @Option(help: ArgumentHelp("How long to relay (default: until a signal arrives).", valueName: "seconds"))
    var duration: Seconds?

    @Flag(name: [.short, .long], help: "Print the first line and the summary only.")
    var quiet = false

    func validate() throws {
        guard 0...65535 ~= listen else { throw ValidationError("--listen: \(listen) is not a port; use 0 to 65535.") }
        if to.port == listen, ["127.0.0.1", "localhost"].contains(to.host) {
            throw ValidationError("--to: the link would connect to itself.")
        }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let session = ChaosSession(
            target: to, script: script, seed: seed ?? .random(in: 0...UInt64(UInt32.max)), duration: duration?.duration, isQuiet: quiet,
            style: Style(isTerminal: StandardOutput.isTerminal, environment: environment))
        do {
            try await session.run(listeningOn: listen)
        } catch {
            let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
            StandardOutput.warn(style.paint("\(error)".escapedOnOneLine, .bad))
            throw Outcome.failed.code
        }
    }
}

/// A bad network that runs until it is ended.
struct ChaosSession: Sendable {
    /// The reason why the link failed.
    struct Failure: Error, CustomStringConvertible { let description: String }

    let target: HostAndPort
    let script: FaultScript
    let seed: UInt64
    let duration: Duration?
    let isQuiet: Bool
    let style: Style

    func run(listeningOn port: Int) async throws {
        let link: FaultyLink
        do { link = try await FaultyLink.start(to: target.port, host: target.host, listeningOn: port, seed: seed) } catch {
            throw Failure(description: "cannot listen on 127.0.0.1:\(port): \(error)")
        }
        let log = ChaosLog(style: style, isQuiet: isQuiet)
        StandardOutput.write("127.0.0.1:\(link.port) -> \(target), seed \(seed)\n")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await play(on: link, log) }
            group.addTask {
                _ = await Signals.firstEnding()
                return true
            }
            if let duration {
                group.addTask {
                    try? await Task.sleep(for: duration)
                    return true
                }
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next(), !isOver {}
        }
        try await link.stop()
        await log.finish(link)
    }

    /// Plays the script; returns false, because the relay continues afterwards.
    private func play(on link: FaultyLink, _ log: ChaosLog) async throws -> Bool {
        do {
            try await link.follow(script, seed: seed) { await log.note($0) }
        } catch is CancellationError {
            return false
        } catch {
            throw Failure(description: "the port \(link.port) could not be reopened: \(error)")
        }
        await log.say("the script is over; still relaying", .dim)
        return false
    }
}

/// Prints and counts the faults of a link.
actor ChaosLog {
    private let style: Style
    private let isQuiet: Bool
    private let start = ContinuousClock.now
    private var counts: [Fault.Kind: Int] = [:]

    init(style: Style, isQuiet: Bool) { (self.style, self.isQuiet) = (style, isQuiet) }

    func note(_ planned: PlannedFault) {
        if !planned.isEnd { counts[planned.fault.kind, default: 0] += 1 }
        say(planned.description, planned.isEnd ? .good : .bad)
    }

    func say(_ text: String, _ part: Style.Part) {
        guard !isQuiet else { return }
        StandardOutput.write(style.paint(start.duration(to: .now).timelineColumn, .dim) + "  " + style.paint(text, part) + "\n")
    }

    /// Prints the totals.
    func finish(_ link: FaultyLink) {
        for line in Self.summary(accepted: link.accepted, up: link.carried(.up), down: link.carried(.down), counts) {
            StandardOutput.write(line + "\n")
        }
    }

    /// Returns the totals of traffic and faults, one per line.
    static func summary(accepted: Int, up: Int, down: Int, _ counts: [Fault.Kind: Int]) -> [String] {
        let faults = Fault.Kind.allCases.compactMap { kind in counts[kind].map { "\(kind.rawValue) \($0)" } }
        return [
            "connections  \(accepted)", "bytes        \(up) up, \(down) down",
            "faults       " + (faults.isEmpty ? "none" : faults.joined(separator: ", ")),
        ]
    }
}
