public import Holdfast
import HoldfastProtocols
import MachineCore
public import QuotesCore
import WebSocketRuntime

/// A live set of quotes from a server of the quotes protocol, over a socket that reconnects.
///
/// ```swift
/// let feed = QuoteFeed("wss://example.com/feed")
/// try feed.subscribe("AAPL", "BANK*")
/// for await update in feed.updates(atMost: 60) {
///     for quote in update.quotes { show(quote) }
/// }
/// ```
///
/// After a lost connection the feed subscribes again, and after a gap it requests all quotes again. Until they arrive, the last values
/// stay and are marked as old. The shown state of a symbol never goes back to an older version. A slow reader needs memory only in
/// proportion to the number of symbols, and always receives the newest values. The feed ends with its socket, or when the last reference
/// to it is released.
public final class QuoteFeed: Sendable {
    /// The socket below, with the connection's state and statistics.
    public let socket: WebSocket
    let shell: QuoteShell
    private let task: Task<Void, Never>

    /// Creates a feed and starts to connect.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path` or `wss://…`.
    ///   - encodings: The encodings to offer, in order of preference; the server takes the first that it supports.
    ///   - rate: The maximum number of updates per second that the server sends, 1 to 1000; nil means no limit.
    ///   - configure: Changes the options of the socket.
    public convenience init(
        _ url: String, encodings: [QuotesEncoding] = [.messagePack, .json], rate: Int? = nil,
        configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { options in
            Self.prepare(&options, encodings)
            configure(&options)
        }
        self.init(over: socket, rate: rate)
    }

    /// Creates a feed over an existing socket, which must offer subprotocols of ``QuotesEncoding``.
    ///
    /// Nothing else should send over this socket.
    ///
    /// - Parameters:
    ///   - socket: The socket; it lives at least as long as the feed.
    ///   - rate: The maximum number of updates per second that the server sends, 1 to 1000; nil means no limit.
    ///   - clock: The clock for the feed's timeouts.
    public init<C: Clock>(over socket: WebSocket, rate: Int? = nil, clock: C = ContinuousClock()) where C.Duration == Duration {
        let machine = QuotesMachine(rate: rate.map { Int64(min(max($0, 1), 1000)) })
        let shell = QuoteShell(machine, QuoteView(), (), over: socket, time: LinkTime(clock))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object, which cancels it when it is released.
        task = Task { await shell.follow(events) }
    }

    deinit {
        task.cancel()
        // The task may hold the shell for a moment longer.
        shell.finish(nil)
    }

    /// Prepares the options of a socket for quotes: its subprotocols.
    public static func prepare(_ options: inout WebSocketOptions, _ encodings: [QuotesEncoding] = [.messagePack, .json]) {
        options.connection.subprotocols = encodings.map(\.subprotocol)
    }

    // MARK: - Subscriptions

    /// Adds symbols to the feed, from now on and across all reconnects.
    ///
    /// - Parameter patterns: 1 to 100 names; `*` matches any run of characters, `?` matches one character.
    /// - Throws: An error if no symbol can match one of the patterns, or if their number is out of range.
    @discardableResult
    public func subscribe(_ patterns: String...) throws(InvalidSymbolPattern) -> QuoteSubscription { try subscribe(to: patterns) }

    /// Adds symbols to the feed; see ``subscribe(_:)``.
    @discardableResult
    public func subscribe(to patterns: [String]) throws(InvalidSymbolPattern) -> QuoteSubscription {
        guard 1...QuotesLimits.patterns ~= patterns.count else { throw InvalidSymbolPattern(pattern: nil) }
        var valid: [SymbolPattern] = []
        for pattern in patterns {
            guard let pattern = SymbolPattern(pattern) else { throw InvalidSymbolPattern(pattern: pattern) }
            valid.append(pattern)
        }
        return shell.subscribe(valid)
    }

    /// Removes the symbols of a subscription, unless another subscription includes them.
    public func unsubscribe(_ subscription: QuoteSubscription) { shell.unsubscribe(subscription.id) }

    /// Returns the reason why the server refused a subscription; nil if it accepted it, or has not answered yet.
    public func refusal(of subscription: QuoteSubscription) -> QuoteRefusal? { shell.refusal(of: subscription.id) }

    // MARK: - State

    /// All current quotes of the subscribed symbols, in the order in which they first arrived.
    public var quotes: [Quote] { shell.quotes }

    /// Returns the current quote of a subscribed symbol.
    public subscript(symbol: String) -> Quote? { shell.quote(of: symbol) }

    /// Whether all subscribed quotes have arrived and are current.
    public var isCurrent: Bool { shell.isCurrent }

    /// The time since the server was last heard; nil if it never was.
    ///
    /// The server sends something at least every five seconds, if anything is subscribed. While there is a connection, no quote is older
    /// than this time plus the network delay.
    public var age: Duration? { shell.age }

    /// The number of messages and quotes received so far.
    public var counts: QuoteCounts { shell.counts }

    /// The complaint about the server when the client last gave up a connection; nil if it never did.
    public var complaint: String? { shell.complaint }

    /// How the socket ended; nil while it is open.
    public var closure: Closure? { shell.closure }

    /// The changes from now on, preceded by all current quotes; supports any number of readers, each at its own speed.
    ///
    /// - Parameter rate: The maximum number of updates per second, such as what a screen can show; nil means no limit. The first change
    ///   arrives at once, and the last one is never left out.
    public func updates(atMost rate: Int? = nil) -> QuoteUpdates {
        QuoteUpdates(feed: self, interval: rate.map { .seconds(1) / max($0, 1) })
    }

    /// Closes the socket for good.
    public func close() async { await socket.close() }

    /// Runs in the calling task until the feed is closed for good, and closes it when the task is cancelled; see `WebSocket.run()`.
    ///
    /// - Throws: The error that ended it. It throws nothing if this side closed it, or the server did with 1000.
    public func run() async throws(WebSocketError) { try await socket.run() }
}

extension QuoteFeed {
    /// Waits until `isReached` returns true; calls it now, and after each change of the quotes, of the connection and of a subscription.
    package func wait(until isReached: (QuoteFeed) -> Bool) async { await QuoteReader(self).wait { isReached(self) } }
}

/// A set of symbols that a ``QuoteFeed`` shows, until it is unsubscribed.
public struct QuoteSubscription: Hashable, Sendable {
    let id: Int64
    /// The patterns of the symbols.
    public let patterns: [SymbolPattern]
}

/// The reason why the server refused a subscription.
public struct QuoteRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error code.
    public let code: QuotesRefusalCode
    /// The server's message, for logs.
    public let message: String

    /// Creates a refusal, for tests of code that receives it.
    public init(code: QuotesRefusalCode, message: String) { (self.code, self.message) = (code, message) }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }
}

/// An error for an invalid subscription, which was not sent to the server.
public struct InvalidSymbolPattern: Error, Hashable, Sendable, CustomStringConvertible {
    /// The pattern that no symbol can match; nil if there were no patterns, or more than 100.
    public let pattern: String?

    /// Creates an error, for tests of code that receives it.
    public init(pattern: String?) { self.pattern = pattern }

    /// The problem, as a text.
    public var description: String {
        pattern.map { "no symbol can match the pattern \($0.debugDescription)" } ?? "a subscription has 1 to 100 patterns"
    }
}

/// A set of changes to show.
public struct QuoteUpdate: Hashable, Sendable {
    /// The newest quote of each symbol that changed since the previous update, in the order of the first change; at first, all quotes.
    ///
    /// This includes quotes that have only become old, or current again: see ``Quote/isCurrent``.
    public var quotes: [Quote] = []
    /// The symbols that are no longer subscribed, or no longer known.
    public var removed: [String] = []

    /// Creates an update, for tests of code that receives it.
    public init(quotes: [Quote] = [], removed: [String] = []) { (self.quotes, self.removed) = (quotes, removed) }
}

/// The changes of the quotes of a ``QuoteFeed``; see ``QuoteFeed/updates(atMost:)``.
///
/// The sequence ends with the feed; ``QuoteFeed/closure`` gives the reason. It keeps the feed alive.
public struct QuoteUpdates: AsyncSequence, Sendable {
    /// All changes since the previous update.
    public typealias Element = QuoteUpdate
    /// The sequence never fails.
    public typealias Failure = Never
    let feed: QuoteFeed
    let interval: Duration?

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: QuoteReader(feed), interval: interval) }

    /// Iterates over the updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let reader: QuoteReader
        let interval: Duration?
        private var nextUpdate = Moment.start

        init(reader: QuoteReader, interval: Duration?) { (self.reader, self.interval) = (reader, interval) }

        /// Waits for the next update; returns nil after the last one, or when the task is cancelled.
        public mutating func next() async -> QuoteUpdate? { await next(isolation: nil) }

        /// Waits for the next update; returns nil after the last one, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> QuoteUpdate? {
            let time = reader.feed.shell.time
            while await reader.hasChanges() {
                // Changes that arrive during the pause are included in the update.
                if let interval {
                    if time.now() < nextUpdate, (try? await time.sleep(nextUpdate)) == nil { return nil }
                    nextUpdate = time.now() + interval
                }
                let update = reader.take()
                // A symbol that came and went since the last update is nothing to show.
                if !update.quotes.isEmpty || !update.removed.isEmpty { return update }
            }
            return nil
        }
    }
}
