import ArgumentParser
import Foundation
import Holdfast

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Examine a server, and say what it does well and what not.",
        discussion: """
            Looks at names and addresses, TLS, the upgrade, proxies on the way, pings, messages of every kind, compression, the largest \
            message and the close handshake; with --idle also at what becomes of a silent connection. Each question has its own \
            deadline, and one that is not answered does not stop the rest. Control-C prints what was found so far.

            It opens some thirty connections one after the other, and sends what a client should not (text that is not UTF-8, a frame \
            without a mask): a server's log will show it. Do not point it at servers that are not yours.

            --json prints one object; its names stay as they are. 'findings' has what follows, each with 'id', 'topic', 'severity' \
            (good, note, warning, broken), 'text', and maybe 'details' and 'advice'; 'observations' has what was seen, times in \
            milliseconds.

            EXIT STATUS:
                0  nothing is broken; there may be warnings
                3  the server refused the upgrade, or answered wrongly
                4  no connection: unknown name, refused port, or a timeout
                5  TLS failed: the certificate is not trusted, or the handshake broke
                7  the server breaks the protocol: no pong, no answer to close, or it hangs up on what it should take
               64  wrong usage: a bad option, value or URL
              130  stopped by SIGINT; what was found so far is printed
              143  stopped by SIGTERM or SIGHUP; what was found so far is printed
            """)

    @Argument(help: ArgumentHelp("ws://host:port/path, wss://… or ws+unix:/socket:/path", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @Option(
        defaultAsFlag: Seconds(60), parsing: .next,
        help: ArgumentHelp("Be silent on a connection for so long (--idle alone: 60), and see whether it lives.", valueName: "seconds"))
    var idle: Seconds?

    @Option(
        help: ArgumentHelp("The largest message to try when looking for the limit, such as 64K or 16M (default: 4M).", valueName: "bytes"))
    var limitCap: ByteCount?

    @Option(help: ArgumentHelp("How long to wait for one answer (default: 5).", valueName: "seconds"))
    var patience: Seconds?

    @Option(help: ArgumentHelp("How long all may take, without what --idle adds (default: 60).", valueName: "seconds"))
    var timeout: Seconds?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        try connection.validate(for: url)
        if connection.way.follow || connection.way.followAnywhere {
            throw ValidationError("doctor follows no redirects: it tells where they lead, and can be pointed there.")
        }
        if connection.maxMessage != nil {
            throw ValidationError("--max-message is about what we take; for what the server takes use --limit-cap.")
        }
        if let limitCap, limitCap.bytes > Wire.largest / 2 { throw ValidationError("--limit-cap: at most 32M.") }
        if let idle, idle.duration < .milliseconds(100) { throw ValidationError("--idle: at least 0.1 seconds.") }
        for (name, value) in [("--patience", patience), ("--timeout", timeout)] {
            if let value, value.duration < .milliseconds(100) { throw ValidationError("\(name): at least 0.1 seconds.") }
        }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let configuration = try connection.configuration(for: url, environment: environment)
        let options: ClientOptions
        do { options = try ClientOptions(url.string, configuration) } catch {
            for line in error.lines { StandardOutput.warn(line) }
            throw Outcome(error).code
        }
        var observations = Observations(url: "\(url)")
        observations.proxy = options.proxy.map { ProxyView(url: "\($0)", isFromEnvironment: connection.way.proxies.proxy == nil) }
        let showsProgress = !json && isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
        let notes = CaseNotes(observations) { probe in
            if showsProgress { StandardOutput.write("\r\u{1B}[K\(probe) …", to: STDERR_FILENO) }
        }
        let silence = idle?.duration
        let time = (timeout?.duration ?? .seconds(60)) + (silence.map { $0 * 3 } ?? .zero)
        let errand = Errand(options: options, patience: patience?.duration ?? .seconds(5), end: .now + time)
        let examination = Examination(
            errand: errand, notes: notes, isCompressionTried: !connection.noCompression, limitCap: limitCap?.bytes ?? 4 << 20, idle: silence
        )
        if connection.insecure { StandardOutput.warn("WARNING: --insecure: whoever answers is examined, and gets what you send.") }
        let stopped = await Self.until(examination)
        if showsProgress { StandardOutput.write("\r\u{1B}[K", to: STDERR_FILENO) }
        let report = DoctorReport(await notes.observations, stopped: stopped)
        let style = Style(isTerminal: StandardOutput.isTerminal, environment: environment)
        StandardOutput.write(json ? report.json + "\n" : report.text(style))
        if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
    }

    /// Runs it; returns what stopped it, if it did not come to its end.
    private static func until(_ examination: Examination) async -> Outcome? {
        let (endings, ending) = AsyncStream.makeStream(of: Outcome?.self)
        // SAFETY: both end with the process if not before: a lookup of a name cannot be cancelled, and nobody is to wait for it.
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
