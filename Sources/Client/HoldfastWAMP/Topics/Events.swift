import Logging
import HoldfastProtocols
import WAMPCore

/// The events of a topic for one subscriber; see ``WAMPClient/subscribe(_:options:buffer:)-(Topic<Content>,_,_)``.
///
/// The subscription lives as long as this, or a loop over it; several subscribers of one topic share one subscription with the router, and
/// know nothing of each other. It survives the loss of the connection: what may be missing then is told by ``withGaps``. The stream ends
/// when ``end()`` is called or the client is closed, and fails when the router refuses the subscription for good.
/// An event that is not of the type that was asked for is left out, and logged. One loop at a time.
public struct Events<Content>: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event<Content>
    /// How it can fail.
    public typealias Failure = WAMPError
    let feed: EventFeed
    let form: WAMPForm<Content>

    /// The events, with news of what is missing.
    public var withGaps: EventItems<Content> { EventItems(feed: feed, form: form) }

    /// Ends the subscription of this subscriber, and with it the stream.
    public func end() { feed.end() }

    /// Starts to take events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(items: withGaps.makeAsyncIterator()) }

    /// Takes events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WAMPError
        var items: EventItems<Content>.AsyncIterator

        /// Waits for the next event; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> Event<Content>? { try await next(isolation: nil) }

        /// Waits for the next event; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> Event<Content>? {
            while let item = try await items.next(isolation: actor) {
                switch item {
                case .event(let event): return event
                case .undecodable(let error): items.feed.shell.context.log(undecodable: error)
                case .gap: break
                }
            }
            return nil
        }
    }
}

/// The events of a topic, with news of what is missing; see ``Events/withGaps``.
public struct EventItems<Content>: AsyncSequence, Sendable {
    /// An event, or what there is instead.
    public typealias Element = EventItem<Content>
    /// How it can fail.
    public typealias Failure = WAMPError
    let feed: EventFeed
    let form: WAMPForm<Content>

    /// Starts to take events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed, form: form) }

    /// Takes events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WAMPError
        let feed: EventFeed
        let form: WAMPForm<Content>

        /// Waits for what is next; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WAMPError) -> EventItem<Content>? { try await next(isolation: nil) }

        /// Waits for what is next; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WAMPError) -> EventItem<Content>? {
            switch try await feed.mailbox.next() {
            case .value(let raw)?:
                do {
                    let content = try form.decode(raw.arguments)
                    return .event(Event(content: content, publication: raw.publication, topic: raw.topic, details: raw.details))
                } catch {
                    return .undecodable(.undecodable(error, "EVENT \(raw.topic)"))
                }
            case .note(let gap)?: return .gap(gap)
            case .dropped(let count)?: return .gap(.dropped(count))
            case nil: return nil
            }
        }
    }
}

/// One subscriber, from its beginning to the release of this object.
final class EventFeed: Sendable {
    let shell: WAMPShell
    let handle: ClientHandle
    let mailbox: EventMailbox

    init(_ shell: WAMPShell, _ handle: ClientHandle, _ mailbox: EventMailbox) {
        (self.shell, self.handle, self.mailbox) = (shell, handle, mailbox)
    }

    deinit { end() }

    func end() { shell.giveUp(handle) }
}
