public import Holdfast
public import QuotesCore
import HoldfastProtocols
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
