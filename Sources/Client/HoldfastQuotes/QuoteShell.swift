import Holdfast
import MachineCore
import HoldfastProtocols
import ProtocolCore
import QuotesCore
import WebSocketCore

/// Runs a `Book`.
typealias QuoteShell = ProtocolShell<QuoteView>

/// What a ``QuoteFeed`` shows beside its book: what was refused, and who reads.
struct QuoteView: ProtocolView {
    typealias Rules = Book
    typealias Coding = QuotesCodec
    typealias Context = Void
    /// Who takes what has changed.
    private struct Reader {
        var changes = ChangeList()
        let arrivals = Changes()
    }

    private var lastSubscription: Int64 = 0
    private var refusals: [Int64: QuoteRefusal] = [:]
    private var readers: [UInt64: Reader] = [:]
    private var lastReader: UInt64 = 0

    static func coding(for opening: Opening, in shell: QuoteShell) throws(ConnectionEnd) -> QuotesCodec {
        if let codec = QuotesCodec(subprotocol: opening.subprotocol) { return codec }
        throw .close(.protocolError, reason: "the server agreed on no subprotocol of ours")
    }

    func open(_ coding: QuotesCodec, in shell: QuoteShell, _ woken: inout [Changes]) {}
    func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: QuoteShell, _ woken: inout [Changes]) {}

    mutating func hear(_ event: Book.Event, in shell: QuoteShell, _ woken: inout [Changes]) {
        switch event {
        case .refused(let id, let code, let message):
            if let id, id > 0, id <= lastSubscription { refusals[id] = QuoteRefusal(code: code, message: message) }
        case .changed(let places):
            for id in readers.keys { readers[id]?.changes.note(places) }
            woken += readers.values.map(\.arrivals)
        }
    }

    func end(_ closure: Closure?, in shell: QuoteShell, _ woken: inout [Changes]) { woken += readers.values.map(\.arrivals) }

    static func perform(_ changes: Changes, in shell: QuoteShell) { changes.announce() }
}

extension QuoteShell {
    func subscribe(_ patterns: [SymbolPattern]) -> QuoteSubscription {
        command { view, _ in
            let id = view.newSubscription()
            return (.subscribe(id: id, patterns), QuoteSubscription(id: id, patterns: patterns))
        }
    }

    func unsubscribe(_ id: Int64) { command { view, _ in (.unsubscribe(id: id), view.forget(id)) } }
    func refusal(of id: Int64) -> QuoteRefusal? { access { view, _ in view.refusal(of: id) } }

    var quotes: [Quote] { access { _, book in (0..<book.count).compactMap { book[$0] } } }
    func quote(of symbol: String) -> Quote? { access { _, book in book.place(of: symbol).flatMap { book[$0] } } }
    var isCurrent: Bool { access { _, book in book.phase == .following } }
    var age: Duration? { access { _, book in book.heard.map { time.now() - $0 } } }
    var counts: QuoteCounts { access { _, book in book.counts } }
}

extension QuoteView {
    fileprivate mutating func newSubscription() -> Int64 {
        lastSubscription += 1
        return lastSubscription
    }

    fileprivate mutating func forget(_ subscription: Int64) { refusals[subscription] = nil }
    fileprivate func refusal(of subscription: Int64) -> QuoteRefusal? { refusals[subscription] }

    // MARK: - Readers

    /// A reader that takes first what is known now.
    fileprivate mutating func addReader(of book: Book) -> (UInt64, Changes) {
        var reader = Reader()
        for place in 0..<book.count where book[place] != nil { reader.changes.note(place) }
        lastReader += 1
        readers[lastReader] = reader
        return (lastReader, reader.arrivals)
    }

    fileprivate mutating func removeReader(_ id: UInt64) { readers[id] = nil }
    fileprivate func hasChanges(for id: UInt64) -> Bool { readers[id]?.changes.isEmpty == false }

    fileprivate mutating func takeChanges(for id: UInt64, of book: Book) -> QuoteUpdate {
        var update = QuoteUpdate()
        while let place = readers[id]?.changes.popFirst() {
            if let quote = book[place] { update.quotes.append(quote) } else { update.removed.append(book.name(of: place)) }
        }
        return update
    }
}

/// One reader of a feed: leaves it when nobody iterates any more.
final class QuoteReader: Sendable {
    let feed: QuoteFeed
    private let id: UInt64
    private let arrivals: Changes

    init(_ feed: QuoteFeed) {
        self.feed = feed
        (id, arrivals) = feed.shell.access { view, book in view.addReader(of: book) }
    }

    deinit { feed.shell.access { [id] view, _ in view.removeReader(id) } }

    /// Waits until something has changed; false at the end, or when the task is cancelled.
    func hasChanges(isolation actor: isolated (any Actor)? = #isolation) async -> Bool {
        while !Task.isCancelled {
            let version = arrivals.version
            let isOver = feed.shell.isOver
            if feed.shell.access({ [id] view, _ in view.hasChanges(for: id) }) { return true }
            if isOver { return false }
            await arrivals.next(after: version)
        }
        return false
    }

    func take() -> QuoteUpdate { feed.shell.access { [id] view, book in view.takeChanges(for: id, of: book) } }
}
