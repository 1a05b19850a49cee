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
