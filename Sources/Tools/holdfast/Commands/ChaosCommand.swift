import ArgumentParser
import Foundation
import HoldfastTesting

struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Put a bad network between a client and a server.",
        discussion: """
            Listens on 127.0.0.1 and relays to --to. Meanwhile it does to the connections what --script says, tells of every fault \
            with its time, and goes on relaying after the last. Bytes are neither changed nor sent twice. The link holds a few hundred \
            KiB at most: who sends faster has to wait.

            The same script and --seed give the same faults at the same times. SIGINT (Control-C), SIGTERM and the end of --duration \
            print what was carried and done, and end it with status 0.

            THE LANGUAGE OF SCRIPTS:
            \(FaultScript.grammar)

            EXAMPLE:
              holdfast chaos --listen 9100 --to localhost:9001 --script \\
                'delay 20ms..80ms; every 5s..9s cut rst; at 20s stall 8s'

            \(Outcome.table)
            """)

    @Option(name: [.short, .long], help: "The port of 127.0.0.1 to listen on; 0 for any free one.")
    var listen: Int

    @Option(help: ArgumentHelp("Where the server is, such as localhost:9001 or [::1]:9001.", valueName: "host:port"))
    var to: HostAndPort

    @Option(
        help: ArgumentHelp("What to do and when, in the language above; @file reads it from a file.", valueName: "script"),
        transform: ScriptArgument.parse)
    var script: FaultScript

    @Option(help: "Decides what the script leaves open (default: drawn, and printed).")
    var seed: UInt64?

    @Option(help: ArgumentHelp("How long to relay (default: until a signal comes).", valueName: "seconds"))
    var duration: Seconds?

    @Flag(name: [.short, .long], help: "Print the first line and the summary only.")
    var quiet = false

    func validate() throws {
        guard 0...65535 ~= listen else { throw ValidationError("--listen: \(listen) is not a port; use 0 to 65535.") }
        if to.port == listen, ["127.0.0.1", "localhost"].contains(to.host) {
            throw ValidationError("--to: the link would lead to itself.")
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

/// A bad network, until it is asked to end.
struct ChaosSession: Sendable {
    /// Why the link could not do what it should.
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
        let ledger = ChaosLedger(style: style, isQuiet: isQuiet)
        StandardOutput.write("127.0.0.1:\(link.port) -> \(target), seed \(seed)\n")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await play(on: link, ledger) }
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
        await ledger.finish(link)
    }

    /// Plays the script; false, as the relay goes on afterwards.
    private func play(on link: FaultyLink, _ ledger: ChaosLedger) async throws -> Bool {
        do {
            try await link.follow(script, seed: seed) { await ledger.note($0) }
        } catch is CancellationError {
            return false
        } catch {
            throw Failure(description: "the port \(link.port) could not be opened again: \(error)")
        }
        await ledger.say("the script is over; still relaying", .dim)
        return false
    }
}

/// Says what the link does to its connections, and counts it.
actor ChaosLedger {
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

    /// What was carried and done, one fact to a line.
    static func summary(accepted: Int, up: Int, down: Int, _ counts: [Fault.Kind: Int]) -> [String] {
        let faults = Fault.Kind.allCases.compactMap { kind in counts[kind].map { "\(kind.rawValue) \($0)" } }
        return [
            "connections  \(accepted)", "bytes        \(up) up, \(down) down",
            "faults       " + (faults.isEmpty ? "none" : faults.joined(separator: ", ")),
        ]
    }
}
