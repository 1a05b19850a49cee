public import Holdfast
internal import WebSocketRuntime

/// A server in memory, for tests of whatever connects and connects again: tells of every attempt, and the test decides what
/// becomes of it.
///
/// ```swift
/// let (server, clock) = (MemoryServer(), ManualClock())
/// let socket = WebSocket(clock: clock, connect: server.connect)
/// await server.nextAttempt()?.refuse(TransportError(.unreachable, "no route"))
/// clock.advance(by: await clock.nextSleep())
/// let peer = await server.nextAttempt()?.accept()
/// try await peer?.send(.text("hello"))
/// peer?.cut()
/// ```
/// A connection that was let in stays until it is closed or cut, whether or not the test keeps its end, or until the server is released.
public final class MemoryServer: Sendable {
    private let attempts: AsyncStream<Attempt>
    private let announce: AsyncStream<Attempt>.Continuation
    private let pair: @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)

    /// A server whose connections obey `configuration`, their timeouts measured with `clock`; see
    /// ``MemoryTransport/pair(agreement:configuration:clock:)``.
    public init<C: Clock>(
        configuration: WebSocketConfiguration = WebSocketConfiguration(), clock: C = ContinuousClock()
    ) where C.Duration == Duration {
        (attempts, announce) = AsyncStream.makeStream()
        let held = LockedValue<[MemoryTransport]>([])
        pair = { agreement in
            let ends = MemoryTransport.pair(agreement: agreement, configuration: configuration, clock: clock)
            held.withLockedValue { held in
                held.removeAll { $0.closeRecord != nil }
                held.append(ends.server)
            }
            return ends
        }
    }

    /// Opens a connection as a client, once the test has answered the attempt.
    ///
    /// - Parameter request: What the test sees as ``Attempt/request``.
    /// - Throws: What the attempt is refused with; `TransportError.Code.cancelled` if the task is cancelled.
    public func connect(_ request: WebSocketAttempt = WebSocketAttempt()) async throws(WebSocketError) -> WebSocketConnection {
        let answer = LinkOutcome<Result<MemoryTransport, TransportError>>()
        announce.yield(Attempt(request, answer, pair))
        let result = await withTaskCancellationHandler {
            await answer.wait()
        } onCancel: {
            answer.settle(.failure(TransportError(.cancelled, "connecting was cancelled")))
        }
        do throws(TransportError) { return WebSocketConnection(try result.get()) } catch { throw WebSocketError(error) }
    }

    /// Waits for the next attempt to connect, also one that began before this call; nil if the task is cancelled.
    ///
    /// Call it from one task at a time.
    public func nextAttempt() async -> Attempt? {
        var iterator = attempts.makeAsyncIterator()
        return await iterator.next()
    }

    /// Somebody who connects, and waits for an answer; refused if it is released without one.
    public final class Attempt: Sendable {
        /// Which attempt it is, where to, and with which credential.
        public let request: WebSocketAttempt
        private let answer: LinkOutcome<Result<MemoryTransport, TransportError>>
        private let pair: @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)

        init(
            _ request: WebSocketAttempt, _ answer: LinkOutcome<Result<MemoryTransport, TransportError>>,
            _ pair: @escaping @Sendable (Agreement) -> (client: MemoryTransport, server: MemoryTransport)
        ) {
            (self.request, self.answer, self.pair) = (request, answer, pair)
        }

        deinit { refuse(TransportError(.unreachable, "nobody answered")) }

        /// Lets the client in, and returns the server's end.
        ///
        /// A client that has given up meanwhile is gone at once.
        public func accept(_ agreement: Agreement = Agreement(response: ResponseHead(status: 101))) -> MemoryTransport {
            let (client, server) = pair(agreement)
            answer.settle(.success(client))
            return server
        }

        /// Lets the attempt fail.
        public func refuse(_ error: TransportError) { answer.settle(.failure(error)) }

        /// Waits until the attempt is over: answered, or given up by the client.
        public func ended() async { _ = await answer.wait() }
    }
}
