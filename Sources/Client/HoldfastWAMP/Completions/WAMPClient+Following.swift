public import Dispatch
import Holdfast
import HoldfastProtocols
public import WAMPCore
import WebSocketRuntime

/// For code that is not asynchronous: subscribing and offering, heard on a queue of choice.
extension WAMPClient {
    /// Subscribes to a topic, and hears its events on a queue, one at a time, in order.
    ///
    /// - Parameters:
    ///   - topic: The topic, or a pattern.
    ///   - options: What is to be other than the defaults.
    ///   - buffer: What becomes of events that come while the queue is busy.
    ///   - queue: Where the app is told.
    ///   - hear: An event, a gap, or an event that is not of its type.
    ///   - completion: Called with ``SubscriptionStage/subscribed`` when the router has answered SUBSCRIBED, before any event; and at
    ///     last, once, when it is over: with ``SubscriptionStage/unsubscribed`` if the app ended it, when the router has answered
    ///     UNSUBSCRIBED, otherwise with why.
    /// - Returns: What ends it; dropping that changes nothing.
    @discardableResult
    public func subscribe<Content: Sendable>(
        _ topic: Topic<Content>, options: SubscribeOptions = SubscribeOptions(), buffer: EventBuffer = .dropOldest(),
        on queue: DispatchQueue = .main, hear: @escaping @Sendable (EventItem<Content>) -> Void,
        completion: @escaping @Sendable (Result<SubscriptionStage, WAMPError>) -> Void = { _ in }
    ) -> WAMPCancellation {
        let shell = shell
        // SAFETY: ends with the subscription, at the latest with the client; cancelled by what is returned.
        let task = Task {
            var result: Result<SubscriptionStage, WAMPError> = .success(.unsubscribed)
            do throws(WAMPError) {
                let feed = try await shell.subscribe(TopicKey(topic.uri, match: topic.match), options, buffer)
                queue.async { completion(.success(.subscribed)) }
                var items = EventItems(feed: feed, form: topic.form).makeAsyncIterator()
                while let item = try await items.next() {
                    await queue.turn { hear(item) }
                }
                try await shell.endSubscription(feed.handle)
            } catch {
                if error.code != .cancelled { result = .failure(error) }
            }
            queue.async { [result] in completion(result) }
        }
        return WAMPCancellation { task.cancel() }
    }

    /// Offers a procedure whose handler is called on a queue, and answers when it likes by calling what it is given, once.
    ///
    /// - Parameters:
    ///   - procedure: What is offered.
    ///   - options: What is to be other than the defaults.
    ///   - queue: Where the app is called.
    ///   - handler: Answers a call.
    ///   - completion: Called once, when the procedure is offered, or why it is not.
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

/// How far a subscription has come whose events are heard on a queue; see
/// ``WAMPClient/subscribe(_:options:buffer:on:hear:completion:)``.
public enum SubscriptionStage: Hashable, Sendable {
    /// It stands: the router has answered SUBSCRIBED, or another subscriber of this client had the topic already.
    case subscribed
    /// It is over: the router has answered UNSUBSCRIBED, another subscriber of this client still has the topic, or there is no session.
    case unsubscribed
}

/// An answer that is given once, from anywhere, and waited for by one task.
final class OneAnswer<Value: Sendable>: Sendable {
    private let result = LockedValue<Result<Value, any Error>?>(nil)
    private let changes = Changes()

    /// Only the first counts.
    func give(_ answer: Result<Value, any Error>) {
        result.withLockedValue { $0 = $0 ?? answer }
        changes.announce()
    }

    /// Waits for the answer; throws when the task is cancelled.
    func wait() async throws -> Value {
        guard let answer = await changes.first({ result.withLockedValue(\.self) }) else { throw CancellationError() }
        return try answer.get()
    }
}

extension DispatchQueue {
    /// Does something on the queue; returns when that is done.
    func turn(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { done in
            async {
                work()
                done.resume()
            }
        }
    }
}
