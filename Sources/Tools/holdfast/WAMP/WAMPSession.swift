import ArgumentParser
import Foundation
import Holdfast
import HoldfastTerminal
import HoldfastWAMP
import Logging
import WebSocketRuntime

/// One run of `wamp`: joins, does its work, and leaves.
struct WAMPSession: Sendable {
    private enum End: Sendable {
        case outcome(Outcome)
        case failure(any Error)
    }

    private let patience: Duration
    private let style: Style
    private let makeClient: @Sendable () -> WAMPClient
    /// The reason for the current lack of a connection.
    private let cause = LockedValue<(any Error)?>(nil)

    init(patience: Duration, style: Style, makeClient: @escaping @Sendable () -> WAMPClient) {
        (self.patience, self.style, self.makeClient) = (patience, style, makeClient)
    }

    /// Runs the body with a joined client, until it is done, a signal arrives, the time is over, or the session ends for good.
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
        case .failure(let error): Self.notify(error)
        case nil: .failed
        }
    }

    /// Prints an error and returns its outcome; a cancellation is not printed.
    private static func notify(_ error: any Error) -> Outcome {
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

    /// Joins the realm; if this takes too long, returns why the last attempt failed.
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

    /// Remembers why attempts to connect fail.
    private func watch(_ socket: WebSocket) async {
        for await state in socket.states {
            if case .waiting(_, let error?) = state { cause.withLockedValue { $0 = error } }
        }
    }

    /// Reports losses; returns the reason when the session has ended for good.
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
/// Its option groups are not nested: in a debug build, each level of nesting multiplies the time to check the options.
protocol WAMPRealmCommand: AsyncParsableCommand {
    var realm: WAMPRealmOptions { get }
    var login: WAMPLoginOptions { get }
    var connection: ConnectionOptions { get }
}

extension WAMPRealmCommand {
    func checkConnection() throws {
        try connection.validate(for: realm.url)
        if !connection.subprotocol.isEmpty {
            throw ValidationError("--subprotocol: use --serialization instead.")
        }
    }

    /// Runs the body after the session has joined; the outcome is the exit status.
    func withClient(for duration: Duration? = nil, _ body: @escaping @Sendable (WAMPClient) async throws -> Void) async throws {
        let outcome = try await session(environment: ProcessInfo.processInfo.environment).run(for: duration, body)
        if outcome != .clean { throw outcome.code }
    }

    /// Returns the session for the options; secrets come from `environment` unless they are given.
    private func session(environment: [String: String]) throws -> WAMPSession {
        let connecting = try connection.configuration(for: realm.url, environment: environment)
        let authentication = try login.authentication(environment: environment)
        connection.warnIfInsecure()
        let style = Style(isTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
        var options = WAMPOptions()
        if realm.trace {
            options.logger = Logger(label: "holdfast.wamp") { _ in
                TerminalLog(style: style) { event in
                    let text = "\(event.message)"
                    return (text, text.hasPrefix("→") ? .sent : text.hasPrefix("←") ? .received : .note)
                }
            }
            options.logger.logLevel = .trace
            options.logsPayloads = realm.payloads
        }
        return WAMPSession(patience: realm.patience.duration, style: style) { [options, realm] in
            WAMPClient(realm.url.string, realm: realm.realm, authentication: authentication, options: options) { socket in
                let subprotocols = realm.serialization.map { [$0.subprotocol] } ?? socket.connection.subprotocols
                socket.connection = connecting
                socket.connection.subprotocols = subprotocols
                // A router that does not answer GOODBYE may not answer a close frame either, so the close timeout is short.
                socket.connection.timeouts.close = min(socket.connection.timeouts.close, .seconds(3))
            }
        }
    }
}
