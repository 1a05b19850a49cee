public import Holdfast
import HoldfastProtocols
import MachineCore
public import QuotesCore
import WebSocketRuntime

/// Quotes that stay true: what a server of the quotes protocol shows, over a socket that survives.
///
/// ```swift
/// let feed = QuoteFeed("wss://example.com/feed")
/// try feed.subscribe("AAPL", "BANK*")
/// for await update in feed.updates(atMost: 60) {
///     for quote in update.quotes { show(quote) }
/// }
/// ```
///
/// After a cut it subscribes again, after a gap it asks for everything again; until that has come, the last values stay, marked as old. What
/// is shown of a symbol never goes back. However slow a reader is, it costs memory by the number of symbols, and what it gets is the newest.
/// It ends with its socket, or when the last reference to it is gone.
public final class QuoteFeed: Sendable {
    /// The connection's life: its state, its statistics.
    public let socket: WebSocket
    let shell: QuoteShell
    private let run: Task<Void, Never>

    /// Starts to connect.
    ///
    /// - Parameters:
    ///   - url: `ws://host:port/path` or `wss://…`.
    ///   - encodings: Which to offer, best first; the server takes the first that it has.
    ///   - rate: How many updates a second the server sends at most, 1 to 1000; nil: as many as there are.
    ///   - configure: Changes what is to be other than the defaults.
    public convenience init(
        _ url: String, encodings: [QuotesEncoding] = [.messagePack, .json], rate: Int? = nil,
        _ configure: (inout WebSocketOptions) -> Void = { _ in }
    ) {
        let socket = WebSocket(url) { options in
            Self.prepare(&options, encodings)
            configure(&options)
        }
        self.init(over: socket, rate: rate)
    }

    /// Reads quotes over a socket that is there already, and that offers subprotocols of ``QuotesEncoding``.
    ///
    /// Nobody else should send over it.
    ///
    /// - Parameters:
    ///   - socket: The socket; it lives at least as long as the feed.
    ///   - rate: How many updates a second the server sends at most, 1 to 1000; nil: as many as there are.
    ///   - clock: What the feed's patience is measured with.
    public init<C: Clock>(over socket: WebSocket, rate: Int? = nil, clock: C = ContinuousClock()) where C.Duration == Duration {
        let book = Book(rate: rate.map { Int64(min(max($0, 1), 1000)) })
        let shell = QuoteShell(book, QuoteView(), (), over: socket, time: LinkTime(clock))
        (self.socket, self.shell) = (socket, shell)
        let events = socket.events
        // SAFETY: owned by this object and cancelled with it.
        run = Task { await shell.follow(events) }
    }

    deinit {
        run.cancel()
        // The task may hold the shell for a moment longer.
        shell.finish(nil)
    }

    /// What a socket for quotes offers.
    public static func prepare(_ options: inout WebSocketOptions, _ encodings: [QuotesEncoding] = [.messagePack, .json]) {
        options.connection.subprotocols = encodings.map(\.subprotocol)
    }

    // MARK: - What is shown

    /// Shows these symbols, too, from now on and over all connections.
    ///
    /// - Parameter patterns: 1 to 100 names, `*` for any run of characters, `?` for one.
    /// - Throws: If one of them is such that no symbol can match it.
    @discardableResult
    public func subscribe(_ patterns: String...) throws(InvalidSymbolPattern) -> QuoteSubscription { try subscribe(to: patterns) }

    /// Shows these symbols, too; see ``subscribe(_:)``.
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

    /// Shows the symbols of a subscription no more, unless another one wants them.
    public func unsubscribe(_ subscription: QuoteSubscription) { shell.unsubscribe(subscription.id) }

    /// Why the server does not show what a subscription wants; nil if it does, or has not answered yet.
    public func refusal(of subscription: QuoteSubscription) -> QuoteRefusal? { shell.refusal(of: subscription.id) }

    // MARK: - What is known

    /// All quotes of the symbols that are subscribed to, as they are known now, in the order in which they came first.
    public var quotes: [Quote] { shell.quotes }

    /// What is known of a symbol that is subscribed to.
    public subscript(symbol: String) -> Quote? { shell.quote(of: symbol) }

    /// Whether everything that is subscribed to has come, and is current.
    public var isCurrent: Bool { shell.isCurrent }

    /// How long ago the server was last heard; nil if never.
    ///
    /// It says something at least every five seconds, if anything is subscribed to. While there is a connection, no quote is older than
    /// this and the way to here.
    public var age: Duration? { shell.age }

    /// What came so far.
    public var counts: QuoteCounts { shell.counts }

    /// What was wrong with the server when this side last gave a connection up; nil if it never did.
    public var complaint: String? { shell.complaint }

    /// How the socket ended; nil while it lives.
    public var closure: Closure? { shell.closure }

    /// What changes from now on, after all that is known now; for any number of readers, each at its own speed.
    ///
    /// - Parameter rate: At most so many updates a second, as many as a screen can show; nil: as many as are taken. The first change
    ///   comes at once, and the last one is never left out.
    public func updates(atMost rate: Int? = nil) -> QuoteUpdates {
        QuoteUpdates(feed: self, interval: rate.map { .seconds(1) / max($0, 1) })
    }

    /// Closes the socket for good.
    public func close() async { await socket.close() }
}

/// Symbols that a ``QuoteFeed`` shows, until it is told to show them no more.
public struct QuoteSubscription: Hashable, Sendable {
    let id: Int64
    /// Which symbols.
    public let patterns: [SymbolPattern]
}

/// Why the server does not show what a subscription wants.
public struct QuoteRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why, in one word.
    public let code: QuotesRefusalCode
    /// Why, for logs; from the server.
    public let message: String

    /// A refusal, as a feed tells it; for tests of what hears of it.
    public init(code: QuotesRefusalCode, message: String) { (self.code, self.message) = (code, message) }

    /// Both.
    public var description: String { "\(code): \(message)" }
}

/// Why a subscription was not even asked for.
public struct InvalidSymbolPattern: Error, Hashable, Sendable, CustomStringConvertible {
    /// The pattern that no symbol can match; nil: there was none at all, or more than 100.
    public let pattern: String?

    /// An error, as a feed throws it; for tests of what hears of it.
    public init(pattern: String?) { self.pattern = pattern }

    /// What is wrong.
    public var description: String {
        pattern.map { "no symbol can match the pattern \($0.debugDescription)" } ?? "a subscription has 1 to 100 patterns"
    }
}

/// What is to be shown anew.
public struct QuoteUpdate: Hashable, Sendable {
    /// The newest of each symbol that has changed since the update before, in the order of their first change; at first, all there are.
    ///
    /// Also those that have only become old or current again: see ``Quote/isCurrent``.
    public var quotes: [Quote] = []
    /// The symbols that are no longer wanted, or no longer known.
    public var removed: [String] = []

    /// An update, as a feed tells it; for tests of what hears of it.
    public init(quotes: [Quote] = [], removed: [String] = []) { (self.quotes, self.removed) = (quotes, removed) }
}

/// What changes of the quotes of a ``QuoteFeed``; see ``QuoteFeed/updates(atMost:)``.
///
/// It ends with the feed; ``QuoteFeed/closure`` tells why. The sequence keeps the feed alive.
public struct QuoteUpdates: AsyncSequence, Sendable {
    /// All that has changed since the update before.
    public typealias Element = QuoteUpdate
    /// The sequence never fails.
    public typealias Failure = Never
    let feed: QuoteFeed
    let interval: Duration?

    /// Starts to take updates.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: QuoteReader(feed), interval: interval) }

    /// Takes updates one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let reader: QuoteReader
        let interval: Duration?
        private var nextUpdate = Moment.start

        init(reader: QuoteReader, interval: Duration?) { (self.reader, self.interval) = (reader, interval) }

        /// Waits for the next update; nil after the last, or when the task is cancelled.
        public mutating func next() async -> QuoteUpdate? { await next(isolation: nil) }

        /// Waits for the next update; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> QuoteUpdate? {
            let time = reader.feed.shell.time
            while await reader.hasChanges() {
                // Whatever changes meanwhile comes along.
                if let interval {
                    if time.now() < nextUpdate, (try? await time.sleep(nextUpdate)) == nil { return nil }
                    nextUpdate = time.now() + interval
                }
                let update = reader.take()
                // What came and went since the last time is nothing to show.
                if !update.quotes.isEmpty || !update.removed.isEmpty { return update }
            }
            return nil
        }
    }
}
