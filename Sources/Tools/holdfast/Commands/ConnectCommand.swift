import ArgumentParser
import Foundation
import Holdfast

struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Open a WebSocket and talk through it.",
        discussion: """
            At a terminal there is a prompt with editing and history: Enter sends the line, Control-C on an empty line or \
            Control-D closes. Text that the other side sends cannot drive the terminal.

            When standard input is not a terminal, every line is a message. After its end the tool goes on receiving until \
            nothing has come for --wait seconds, and then closes with 1000. Messages go to standard output unmarked and \
            unchanged, everything else to standard error.

            \(Outcome.table)
            """)

    @Argument(help: ArgumentHelp("ws://host:port/path, wss://… or ws+unix:/socket:/path", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @OptionGroup(title: "Connection") var connection: ConnectionOptions
    @OptionGroup(title: "Display") var display: DisplayOptions

    @Option(
        name: [.customShort("x"), .long],
        help: ArgumentHelp("Send this text instead of reading standard input; repeatable.", valueName: "text"))
    var execute: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("How long it must be quiet after the last line before closing, or 'forever'.", valueName: "seconds"))
    var wait = Patience.quiet(.seconds(1))

    @Option(help: ArgumentHelp("Send a ping this often and print its round trip.", valueName: "seconds"))
    var ping: Seconds?

    @Flag(help: "Show messages, bytes and round trips each second, at a terminal, and sum them up at the end; sends a ping each second.")
    var stats = false

    @Flag(name: [.short, .long], help: "Connect again after a loss, with growing pauses.")
    var reconnect = false

    func validate() throws {
        try connection.validate(for: url)
        if let ping, ping.duration < .milliseconds(10) { throw ValidationError("--ping: at least 0.01 seconds.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let isInteractive =
            execute.isEmpty && StandardInput.isTerminal && StandardOutput.isTerminal && environment["TERM"] != "dumb"
        let session = ConnectSession(
            url: url, configuration: try connection.configuration(for: url, environment: environment), isReconnecting: reconnect,
            source: isInteractive ? .prompt : execute.isEmpty ? .standardInput : .texts(execute), patience: wait, pingEvery: ping?.duration,
            showsStatistics: stats, console: display.console(isInteractive: isInteractive, environment: environment))
        if connection.insecure {
            StandardOutput.warn("WARNING: --insecure: the server's certificate is NOT checked.")
            StandardOutput.warn("WARNING: anyone on the way can read and change what is sent, secrets included.")
        }
        let outcome = await session.run()
        if outcome != .clean { throw outcome.code }
    }
}
