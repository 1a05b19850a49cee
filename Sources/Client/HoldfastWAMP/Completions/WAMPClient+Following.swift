public import Dispatch
import Holdfast
import HoldfastProtocols
public import WAMPCore
import WebSocketRuntime

/// For code that is not asynchronous: subscriptions and registrations, with handlers on a queue of choice.
extension WAMPClient {
    /// Subscribes to a topic, and delivers its events on a queue, one at a time, in order.
    ///
    /// - Parameters:
    ///   - topic: The topic, or a pattern.
    ///   - options: The options.
    ///   - buffer: The policy for events that arrive while the queue is busy.
    ///   - queue: The queue of the handlers.
    ///   - handle: Receives an event, a gap, or an event that could not be decoded.
    ///   - completion: Called with ``SubscriptionStage/subscribed`` when the router has answered SUBSCRIBED, before any event. Called a
    ///     last time, once, when the subscription has ended: with ``SubscriptionStage/unsubscribed`` if the app ended it and the router
    ///     has answered UNSUBSCRIBED, otherwise with the error.
    /// - Returns: A handle that ends the subscription; it may be ignored.
    @discardableResult
    public func subscribe<Content: Sendable>(
        _ topic: Topic<Content>, options: SubscribeOptions = SubscribeOptions(), buffer: EventBuffer = .dropOldest(),
        on queue: DispatchQueue = .main, handle: @escaping @Sendable (EventItem<Content>) -> Void,
        completion: @escaping @Sendable (Result<SubscriptionStage, WAMPError>) -> Void = { _ in }
    ) -> WAMPCancellation {
        let shell = shell
        // SAFETY: ends with the subscription, at the latest with the client; the returned handle cancels it.
        let task = Task {
            var result: Result<SubscriptionStage, WAMPError> = .success(.unsubscribed)
            do throws(WAMPError) {
                let feed = try await shell.subscribe(TopicKey(topic.uri, match: topic.match), options, buffer)
                queue.async { completion(.success(.subscribed)) }
                var items = EventItems(feed: feed, form: topic.form).makeAsyncIterator()
                while let item = try await items.next() {
                    await queue.turn { handle(item) }
                }
                try await shell.endSubscription(feed.handle)
            } catch {
                if error.code != .cancelled { result = .failure(error) }
            }
            queue.async { [result] in completion(result) }
        }
        return WAMPCancellation { task.cancel() }
    }

    /// Registers a procedure whose handler is called on a queue; the handler may answer later, by calling its closure once.
    ///
    /// - Parameters:
    ///   - procedure: The procedure.
    ///   - options: The options.
    ///   - queue: The queue of the handlers.
    ///   - handler: Answers a call.
    ///   - completion: Called once, when the procedure is registered or the registration has failed.
    public func register<Input: Sendable, Output: Sendable>(
        _ procedure: Procedure<Input, Output>, options: RegisterOptions = RegisterOptions(), on queue: DispatchQueue = .main,
        handler: @escaping @Sendable (Input, Invocation, @escaping @Sendable (Result<Output, any Error>) -> Void) -> Void,
        completion: @escaping @Sendable (Result<Registration, WAMPError>) -> Void
    ) {
        let record = RegistrationRecord(procedure.uri)
        let answering = procedure.handler(
            { input, invocation in
                let answer = OneAnswer<Output>()
                queue.async { handler(input, invocation) { answer.give($0) } }
                return try await answer.wait()
            }, shell)
        let shell = shell
        _ = shell.beginRegistration(
            procedure.uri, options, record, answering,
            .closure { result in
                queue.async { completion(result.map { Registration(shell: shell, record: record) }) }
            })
    }
}

/// The stage of a subscription whose events are delivered on a queue.
///
/// See ``WAMPClient/subscribe(_:options:buffer:on:handle:completion:)``.
public enum SubscriptionStage: Hashable, Sendable {
    /// The subscription is active: the router has answered SUBSCRIBED, or another subscriber of this client had the topic already.
    case subscribed
    /// It has ended: the router has answered UNSUBSCRIBED, another subscriber of this client still has the topic, or there is no session.
    case unsubscribed
}

/// An answer that is given once, from any thread, and that one task waits for.
final class OneAnswer<Value: Sendable>: Sendable {
    private let result = LockedValue<Result<Value, any Error>?>(nil)
    private let changes = Changes()

    /// Sets the answer; only the first call counts.
    func give(_ answer: Result<Value, any Error>) {
        result.withLockedValue { $0 = $0 ?? answer }
        changes.announce()
    }

    /// Waits for the answer; throws when the task is cancelled.
    func wait() async throws -> Value {
        guard let answer = await changes.first({ result.withLockedValue({ $0 }) }) else { throw CancellationError() }
        return try answer.get()
    }
}

extension DispatchQueue {
    /// Runs a closure on the queue; returns when it is done.
    func turn(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { done in
            async {
                work()
                done.resume()
            }
        }
    }
}
