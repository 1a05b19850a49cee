import Holdfast
import HoldfastWAMP
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
