import ArgumentParser
import Foundation
import Holdfast
import HoldfastWAMP
import Logging
import WebSocketRuntime

/// One `wamp` command at work: joins, does what it is for, and leaves.
struct WAMPSession: Sendable {
    private enum End: Sendable {
        case outcome(Outcome)
        case failure(any Error)
    }

    private let patience: Duration
    private let style: Style
    private let makeClient: @Sendable () -> WAMPClient
    /// Why there is no connection, since there is none.
    private let cause = LockedValue<(any Error)?>(nil)

    init(patience: Duration, style: Style, makeClient: @escaping @Sendable () -> WAMPClient) {
        (self.patience, self.style, self.makeClient) = (patience, style, makeClient)
    }

    /// Runs the body with a client that has joined, until it is done, a signal comes, the time is over, or the session ends for good.
    func run(for duration: Duration? = nil, _ body: @escaping @Sendable (WAMPClient) async throws -> Void) async -> Outcome {
        let client = makeClient()
        let end = await withTaskGroup(of: End?.self) { group in
            group.addTask { await follow(client).map { .failure($0) } }
            group.addTask {
                await watch(client.socket)
                return nil
            }
            group.addTask {
                if let error = await join(client) { return .failure(error) }
                do {
                    try await body(client)
                    return .outcome(.clean)
                } catch {
                    return .failure(error)
                }
            }
            group.addTask { await Signals.firstEnding().map { .outcome($0) } }
            if let duration { group.addTask { (try? await Task.sleep(for: duration)) == nil ? nil : .outcome(.clean) } }
            var end: End?
            while end == nil, let next = await group.next() { end = next }
            group.cancelAll()
            return end
        }
        await client.close()
        return switch end {
        case .outcome(let outcome): outcome
        case .failure(let error): Self.tell(error)
        case nil: .failed
        }
    }

    /// Says what went wrong, and how that counts; what was cancelled needs no words.
    private static func tell(_ error: any Error) -> Outcome {
        if error is CancellationError { return .interrupted }
        switch error {
        case let error as WAMPError:
            if error.code == .cancelled { return .interrupted }
            for line in error.lines { StandardOutput.warn(line) }
            return Outcome(error)
        case let error as WebSocketError:
            for line in error.lines { StandardOutput.warn(line) }
            return Outcome(error)
        default:
            StandardOutput.warn("\(error)".escapedOnOneLine)
            return .failed
        }
    }

    /// Joins; if that cannot be done in time, why the last attempt failed.
    private func join(_ client: WAMPClient) async -> (any Error)? {
        do {
            _ = try await client.joined(within: patience)
            return nil
        } catch {
            let isLate = error.code == .timedOut || error.code == .notJoined
            let known: (any Error)? = cause.withLockedValue { $0 }
            return isLate ? known ?? error : error
        }
    }

    /// Keeps in mind why attempts to connect fail.
    private func watch(_ socket: WebSocket) async {
        for await state in socket.states {
            if case .waiting(_, let error?) = state { cause.withLockedValue { $0 = error } }
        }
    }

    /// Tells of losses; returns when the session has ended for good, and why.
    private func follow(_ client: WAMPClient) async -> WAMPError? {
        for await state in client.states {
            switch state {
            case .waiting(let error?):
                cause.withLockedValue { $0 = error }
                StandardOutput.warn(style.paint("* \(error)".escapedOnOneLine, .note))
            case .joined: cause.withLockedValue { $0 = nil }
            case .closed(let error?): return error
            case .connecting, .waiting, .closed: break
            }
        }
        return nil
    }
}

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
