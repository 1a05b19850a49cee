import ArgumentParser
import Foundation
import Holdfast
import HoldfastWAMP
import Logging

/// What decides which realm is joined, how, and as whom.
struct WAMPRealmOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("ws://host:port/ or wss://… of a router", valueName: "url"), transform: URLArgument.parse)
    var url: WebSocketURL

    @Argument(help: ArgumentHelp("The realm to join.", valueName: "realm"))
    var realm: String

    @OptionGroup(title: "Session") var login: WAMPLoginOptions

    @Option(help: "How messages are written (default: msgpack, cbor or json, the first that the router takes).")
    var serialization: WAMPSerialization?

    @Option(help: ArgumentHelp("How long to try to join the realm.", valueName: "seconds"))
    var patience = Seconds(10)

    @Flag(help: "Print each message in words to standard error: → is sent, ← has come. Secrets are left out.")
    var trace = false

    @Flag(help: "With --trace: print what messages carry, too.")
    var payloads = false

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    func validate() throws {
        try connection.validate(for: url)
        if !connection.subprotocol.isEmpty {
            throw ValidationError("--subprotocol: it says how messages are written; see --serialization.")
        }
        if payloads, !trace { throw ValidationError("--payloads goes with --trace.") }
        if realm.isEmpty { throw ValidationError("the realm has a name.") }
    }

    /// The session that the options ask for; secrets come from `environment` unless given.
    func session(environment: [String: String]) throws -> WAMPSession {
        let connecting = try connection.configuration(for: url, environment: environment)
        let authentication = try login.authentication(environment: environment)
        if connection.insecure {
            StandardOutput.warn("WARNING: --insecure: the server's certificate is NOT checked.")
            StandardOutput.warn("WARNING: anyone on the way can read and change what is sent, secrets included.")
        }
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        var options = WAMPOptions()
        if trace {
            options.logger = Logger(label: "holdfast.wamp") { _ in TraceLog(style: style) }
            options.logger.logLevel = .trace
            options.logsPayloads = payloads
        }
        return WAMPSession(patience: patience.duration, style: style) { [options, serialization, url, realm] in
            WAMPClient(url.string, realm: realm, authentication: authentication, options: options) { socket in
                let subprotocols = serialization.map { [$0.subprotocol] } ?? socket.connection.subprotocols
                socket.connection = connecting
                socket.connection.subprotocols = subprotocols
            }
        }
    }
}
