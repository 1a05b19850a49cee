import ArgumentParser
import Foundation
import Holdfast
import HoldfastWAMP
import Logging

/// A command that joins a realm.
///
/// Its groups of options stand side by side: a debug build checks what is in a group several times as often with each group around it.
protocol WAMPRealmCommand: AsyncParsableCommand {
    var realm: WAMPRealmOptions { get }
    var login: WAMPLoginOptions { get }
    var connection: ConnectionOptions { get }
}

extension WAMPRealmCommand {
    func checkConnection() throws {
        try connection.validate(for: realm.url)
        if !connection.subprotocol.isEmpty {
            throw ValidationError("--subprotocol: it says how messages are written; see --serialization.")
        }
    }

    /// Does what the command is for, once it has joined; how that ends is the command's status.
    func withClient(for duration: Duration? = nil, _ body: @escaping @Sendable (WAMPClient) async throws -> Void) async throws {
        let outcome = try await session(environment: ProcessInfo.processInfo.environment).run(for: duration, body)
        if outcome != .clean { throw outcome.code }
    }

    /// The session that the options ask for; secrets come from `environment` unless given.
    private func session(environment: [String: String]) throws -> WAMPSession {
        let connecting = try connection.configuration(for: realm.url, environment: environment)
        let authentication = try login.authentication(environment: environment)
        if connection.insecure {
            StandardOutput.warn("WARNING: --insecure: the server's certificate is NOT checked.")
            StandardOutput.warn("WARNING: anyone on the way can read and change what is sent, secrets included.")
        }
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        var options = WAMPOptions()
        if realm.trace {
            options.logger = Logger(label: "holdfast.wamp") { _ in TraceLog(style: style) }
            options.logger.logLevel = .trace
            options.logsPayloads = realm.payloads
        }
        return WAMPSession(patience: realm.patience.duration, style: style) { [options, realm] in
            WAMPClient(realm.url.string, realm: realm.realm, authentication: authentication, options: options) { socket in
                let subprotocols = realm.serialization.map { [$0.subprotocol] } ?? socket.connection.subprotocols
                socket.connection = connecting
                socket.connection.subprotocols = subprotocols
                // A router that does not answer GOODBYE may not answer a close frame either: the command ends in spite of that.
                socket.connection.timeouts.close = min(socket.connection.timeouts.close, .seconds(3))
            }
        }
    }
}
