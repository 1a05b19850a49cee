public import Holdfast
public import WebSocketRuntime

/// The events of a request for one consumer, with the errors of its protocol.
///
/// It ends after the last event of the request, and when the client is closed. It throws when the request failed.
public struct RequestEvents<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    /// Nil if the request was not sent.
    @usableFromInline let events: ProtocolEvents<Element>?
    @usableFromInline let outcome: LockedValue<Failure?>
    @usableFromInline let convert: @Sendable (WebSocketError) -> Failure

    /// - Parameters:
    ///   - events: The events of the rules; nil if the request was not sent.
    ///   - outcome: The failure with which the sequence ends.
    ///   - convert: Returns the failure for an error of the socket.
    package init(
        _ events: ProtocolEvents<Element>?, outcome: LockedValue<Failure?>, convert: @escaping @Sendable (WebSocketError) -> Failure
    ) {
        (self.events, self.outcome, self.convert) = (events, outcome, convert)
    }

    /// Starts to take events; all iterators share the same events.
    @inlinable public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline var events: ProtocolEvents<Element>.AsyncIterator?
        @usableFromInline let outcome: LockedValue<Failure?>
        @usableFromInline let convert: @Sendable (WebSocketError) -> Failure

        @inlinable init(_ sequence: RequestEvents) {
            (events, outcome, convert) = (sequence.events?.makeAsyncIterator(), sequence.outcome, sequence.convert)
        }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        @inlinable public mutating func next() async throws(Failure) -> Element? { try await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        @inlinable public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            do throws(WebSocketError) {
                if let element = try await events?.next(isolation: actor) { return element }
            } catch {
                throw convert(error)
            }
            if !Task.isCancelled, let failure = outcome.withLockedValue({ $0 }) { throw failure }
            return nil
        }
    }
}
