import Holdfast
import MachineCore
import HoldfastProtocols
import ProtocolCore
import QuotesCore
import WebSocketCore

/// Runs a `QuotesMachine`.
typealias QuoteShell = ProtocolShell<QuoteView>

/// The state that a ``QuoteFeed`` keeps beside its machine: the refusals, and the readers.
struct QuoteView: ProtocolView {
    typealias Rules = QuotesMachine
    typealias Coding = QuotesCodec
    typealias Context = Void
    /// A reader and the changes that it has not taken yet.
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

    func open(_ coding: QuotesCodec, in shell: QuoteShell, _ woken: inout [Changes]) { wakeReaders(&woken) }
    func lose(because cause: WebSocketError?, isRetrying: Bool, in shell: QuoteShell, _ woken: inout [Changes]) { wakeReaders(&woken) }

    mutating func handle(_ event: QuotesMachine.Event, in shell: QuoteShell, _ woken: inout [Changes]) {
        switch event {
        case .refused(let id, let code, let message):
            if let id, id > 0, id <= lastSubscription { refusals[id] = QuoteRefusal(code: code, message: message) }
            wakeReaders(&woken)
        case .changed(let places):
            for id in readers.keys { readers[id]?.changes.note(places) }
            wakeReaders(&woken)
        }
    }

    func end(_ closure: Closure?, in shell: QuoteShell, _ woken: inout [Changes]) { wakeReaders(&woken) }

    /// Lets the readers look again, also for changes that concern no quote.
    private func wakeReaders(_ woken: inout [Changes]) { woken += readers.values.map(\.arrivals) }

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

    var quotes: [Quote] { access { _, machine in (0..<machine.count).compactMap { machine[$0] } } }
    func quote(of symbol: String) -> Quote? { access { _, machine in machine.place(of: symbol).flatMap { machine[$0] } } }
    var isCurrent: Bool { access { _, machine in machine.phase == .following } }
    var age: Duration? { access { _, machine in machine.heard.map { time.now() - $0 } } }
    var counts: QuoteCounts { access { _, machine in machine.counts } }
}

extension QuoteView {
    fileprivate mutating func newSubscription() -> Int64 {
        lastSubscription += 1
        return lastSubscription
    }

    fileprivate mutating func forget(_ subscription: Int64) { refusals[subscription] = nil }
    fileprivate func refusal(of subscription: Int64) -> QuoteRefusal? { refusals[subscription] }

    // MARK: - Readers

    /// Adds a reader, which first receives all current quotes.
    fileprivate mutating func addReader(of machine: QuotesMachine) -> (UInt64, Changes) {
        var reader = Reader()
        for place in 0..<machine.count where machine[place] != nil { reader.changes.note(place) }
        lastReader += 1
        readers[lastReader] = reader
        return (lastReader, reader.arrivals)
    }

    fileprivate mutating func removeReader(_ id: UInt64) { readers[id] = nil }
    fileprivate func hasChanges(for id: UInt64) -> Bool { readers[id]?.changes.isEmpty == false }

    fileprivate mutating func takeChanges(for id: UInt64, of machine: QuotesMachine) -> QuoteUpdate {
        var update = QuoteUpdate()
        while let place = readers[id]?.changes.popFirst() {
            if let quote = machine[place] { update.quotes.append(quote) } else { update.removed.append(machine.name(of: place)) }
        }
        return update
    }
}

/// One reader of a feed; it is removed from the feed when the last iterator is released.
final class QuoteReader: Sendable {
    let feed: QuoteFeed
    private let id: UInt64
    private let arrivals: Changes

    init(_ feed: QuoteFeed) {
        self.feed = feed
        (id, arrivals) = feed.shell.access { view, machine in view.addReader(of: machine) }
    }

    deinit { feed.shell.access { [id] view, _ in view.removeReader(id) } }

    /// Waits until `isReached` returns true; calls it now, and after each change of the quotes, of the connection and of a subscription.
    func wait(until isReached: () -> Bool) async { await arrivals.first { isReached() ? () : nil } }

    /// Waits until something has changed; returns false at the end, or when the task is cancelled.
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

    func take() -> QuoteUpdate { feed.shell.access { [id] view, machine in view.takeChanges(for: id, of: machine) } }
}
