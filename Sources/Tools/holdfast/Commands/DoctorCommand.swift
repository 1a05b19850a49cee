import ArgumentParser
import Foundation
import Holdfast
import HoldfastDoctor
import HoldfastTerminal

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examine a server, and report what works and what does not.",
        discussion: """
            Examines names and addresses, TLS, the upgrade, proxies on the way, pings, messages of every kind, compression, the largest \
            message and the close handshake; with --idle also the outcome of a silent connection. Each probe has its own deadline, and a \
            failed probe does not stop the others. Control-C prints the findings so far.

            It opens about thirty connections one after another, and sends what a client should not send (text that is not UTF-8, a \
            frame without a mask), so the server's log will show errors. Do not use it on servers that are not yours.

            --json prints one object, whose names are stable. 'findings' contains the findings, each with 'id', 'topic', 'severity' \
            (good, note, warning, broken), 'text', and sometimes 'details' and 'advice'; 'observations' contains the observations, with \
            times in milliseconds.

            EXIT STATUS:
                0  nothing is broken; there may be warnings
                3  the server refused the upgrade, or its answer was invalid
                4  no connection: unknown name, refused port, or a timeout
                5  TLS failed: the certificate is not trusted, or the handshake broke
                7  the server violates the protocol: no pong, no answer to a close frame, or it closes on valid messages
               64  wrong usage: a bad option, value or URL
              130  stopped by SIGINT; the findings so far are printed
              143  stopped by SIGTERM or SIGHUP; the findings so far are printed
            """)

    @Argument(help: ArgumentHelp("ws://host:port/path, wss://… or ws+unix:/socket:/path", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Option(
        defaultAsFlag: Seconds(60), parsing: .next,
        help: ArgumentHelp("Keep a connection silent for this long (--idle alone: 60), and test if it survives.", valueName: "seconds"))
    var idle: Seconds?

    @Option(
        help: ArgumentHelp("The largest message to try when looking for the limit, such as 64K or 16M (default: 4M).", valueName: "bytes"))
    var limitCap: ByteCount?

    @Option(help: ArgumentHelp("How long to wait for one answer (default: 5).", valueName: "seconds"))
    var patience: Seconds?

    @Option(help: ArgumentHelp("The time limit for everything, without the time for --idle (default: 60).", valueName: "seconds"))
    var timeout: Seconds?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        try connection.validate(for: url)
        if connection.way.follow || connection.way.followAnywhere {
            throw ValidationError("doctor follows no redirects: it reports where they lead, so that you can examine that URL.")
        }
        if connection.maxMessage != nil {
            throw ValidationError("--max-message limits received messages; to test the server's limit, use --limit-cap.")
        }
        if let limitCap, limitCap.bytes > Examination.greatestLimitCap { throw ValidationError("--limit-cap: at most 32M.") }
        if let idle, idle.duration < .milliseconds(100) { throw ValidationError("--idle: at least 0.1 seconds.") }
        for (name, value) in [("--patience", patience), ("--timeout", timeout)] {
            if let value, value.duration < .milliseconds(100) { throw ValidationError("\(name): at least 0.1 seconds.") }
        }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let configuration = try connection.configuration(for: url, environment: environment)
        let showsProgress = !json && isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
        let examination: Examination
        do {
            examination = try Examination(
                of: url, configuration, patience: patience?.duration ?? .seconds(5), time: timeout?.duration ?? .seconds(60),
                limitCap: limitCap?.bytes ?? 4 << 20, idle: idle?.duration
            ) { probe in
                if showsProgress { StandardOutput.write("\r\u{1B}[K\(probe) …", to: STDERR_FILENO) }
            }
        } catch {
            for line in error.lines { StandardOutput.warn(line) }
            throw Outcome(error).code
        }
        if connection.insecure { StandardOutput.warn("WARNING: --insecure: the server is not verified, and gets what you send.") }
        let stopped = await Self.until(examination)
        if showsProgress { StandardOutput.write("\r\u{1B}[K", to: STDERR_FILENO) }
        let report = await examination.report(stopped: stopped)
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: environment)
        StandardOutput.write(json ? report.json + "\n" : report.text(style))
        if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
    }

    /// Runs the examination; returns the signal that stopped it, or nil if it finished.
    private static func until(_ examination: Examination) async -> Outcome? {
        let (endings, ending) = AsyncStream.makeStream(of: Outcome?.self)
        // SAFETY: both tasks end with the process at the latest; a name lookup cannot be cancelled, and the command must not wait for it.
        let tasks = [
            Task {
                await examination.run()
                ending.yield(nil)
            },
            Task { if let signal = await Signals.firstEnding() { ending.yield(signal) } },
        ]
        defer { for task in tasks { task.cancel() } }
        for await first in endings { return first }
        return nil
    }
}
