import Holdfast
import MachineCore
import QuotesCore
import WebSocketRuntime

/// Runs a `Book`: the shell around the rules of a ``QuoteFeed``.
///
/// What it knows is read from anywhere at any time, so it is behind a lock and no actor's.
final class QuoteDesk: Sendable {
    /// A request, and the connection that it is for.
    private typealias Order = (WebSocketConnection, Message)
    /// Who takes what has changed.
    private struct Reader {
        var changes = ChangeList()
        var waiting: CheckedContinuation<Void, Never>?
    }
    /// A connection that is to be ended: closed with a code, or without one dropped.
    private struct Parting {
        let connection: WebSocketConnection
        let code: CloseCode?
        let reason: String
    }
    private struct State {
        var book: Book
        var effects: [Book.Effect] = []
        var link: (connection: WebSocketConnection, codec: QuotesCodec)?
        var lastSubscription: Int64 = 0
        var refusals: [Int64: QuoteRefusal] = [:]
        var readers: [UInt64: Reader] = [:]
        var lastReader: UInt64 = 0
        var alarm: (at: Moment, task: Task<Void, Never>)?
        var isOver = false
        var closure: Closure?
        var complaint: String?
        var parting: Parting? { didSet { complaint = parting?.reason ?? complaint } }
    }

    let time: LinkTime
    private let state: LockedValue<State>
    private let orders: AsyncStream<Order>
    private let send: AsyncStream<Order>.Continuation

    init(rate: Int64?, time: LinkTime) {
        self.time = time
        state = LockedValue(State(book: Book(rate: rate)))
        // As many requests as the app has subscriptions, and five resyncs a second at most until the connection stalls.
        (orders, send) = AsyncStream.makeStream()
    }

    // MARK: - The link

    /// Takes what happens to the socket, until it ends.
    func follow(_ events: WebSocketEvents) async {
        var codec: QuotesCodec?
        for await event in events {
            switch event {
            case .opened(let opening): codec = open(opening)
            case .message(let message): if let codec { receive(message, codec) }
            case .state(.connected): break
            case .state, .reconnecting: change { state, now in Self.lose(&state, now) }
            case .closed(let closure): finish(closure)
            case .dropped, .undecodable, .missed: break
            }
        }
        finish(nil)
    }

    /// Sends what the book asks for, each request over the connection that it was made for.
    func sendRequests() async {
        for await (connection, message) in orders { try? await connection.send(message) }
    }

    private func open(_ opening: Opening) -> QuotesCodec? {
        guard let encoding = opening.subprotocol.flatMap({ QuotesEncoding(subprotocol: $0) }) else {
            let parting = Parting(connection: opening.connection, code: .protocolError, reason: "no subprotocol of quotes was agreed on")
            change { state, _ in state.parting = parting }
            return nil
        }
        let codec = QuotesCodec(encoding)
        change { state, now in
            Self.lose(&state, now)
            state.link = (opening.connection, codec)
            state.book.handle(.opened, at: now, into: &state.effects)
        }
        return codec
    }

    private static func lose(_ state: inout State, _ now: Moment) {
        guard state.link != nil else { return }
        state.link = nil
        state.book.handle(.lost, at: now, into: &state.effects)
    }

    private func receive(_ message: Message, _ codec: QuotesCodec) {
        let input: Book.Input
        do {
            guard let reply = try codec.reply(from: message) else { return }
            input = .received(reply)
        } catch {
            input = .receivedGarbage
        }
        change { state, now in state.book.handle(input, at: now, into: &state.effects) }
    }

    /// Ends what was lent to readers, and tells them that nothing more comes.
    func finish(_ closure: Closure?) {
        change { state, now in
            Self.lose(&state, now)
            state.isOver = true
            if let closure { state.closure = closure }
            state.alarm?.task.cancel()
            state.alarm = nil
        }
        send.finish()
    }

    // MARK: - Changes

    /// Changes the book, then does what it asks for; whom that concerns is called without the lock.
    private func change(_ body: (inout State, Moment) -> Void) {
        let (woken, parting) = state.withLockedValue { state in
            body(&state, time.now())
            var woken: [CheckedContinuation<Void, Never>] = []
            for effect in state.effects { perform(effect, &state, &woken) }
            state.effects.removeAll(keepingCapacity: true)
            if state.isOver {
                for id in state.readers.keys { wake(id, &state, &woken) }
            } else {
                setAlarm(&state)
            }
            return (woken, state.parting.take())
        }
        for reader in woken { reader.resume() }
        if let parting { part(parting) }
    }

    private func perform(_ effect: Book.Effect, _ state: inout State, _ woken: inout [CheckedContinuation<Void, Never>]) {
        switch effect {
        case .send(let request):
            if let link = state.link { send.yield((link.connection, link.codec.encode(request))) }
        case .giveUp(let reason): if let connection = state.link?.connection { state.parting = parting(connection, reason) }
        case .refused(let id, let code, let message):
            if let id, id > 0, id <= state.lastSubscription { state.refusals[id] = QuoteRefusal(code: code, message: message) }
        case .changed(let places):
            for id in state.readers.keys {
                state.readers[id]?.changes.note(places)
                wake(id, &state, &woken)
            }
        }
    }

    private func wake(_ id: UInt64, _ state: inout State, _ woken: inout [CheckedContinuation<Void, Never>]) {
        if let waiting = state.readers[id]?.waiting.take() { woken.append(waiting) }
    }

    private func parting(_ connection: WebSocketConnection, _ reason: Book.Distrust) -> Parting {
        switch reason {
        case .silence: Parting(connection: connection, code: nil, reason: "nothing of what was asked for came")
        case .garbage: Parting(connection: connection, code: .invalidPayload, reason: "too much of it could not be trusted")
        case .version(let version): Parting(connection: connection, code: .protocolError, reason: "version \(version) is not spoken here")
        case .tooManySymbols(let count): Parting(connection: connection, code: .policyViolation, reason: "\(count) symbols are too many")
        }
    }

    private func part(_ parting: Parting) {
        guard let code = parting.code else { return parting.connection.abort() }
        // SAFETY: ends with the close handshake, which has a deadline, or with the connection.
        Task { await parting.connection.close(code: code, reason: parting.reason) }
    }

    private func setAlarm(_ state: inout State) {
        // An alarm that rings early is harmless, so a deadline that moves later costs nothing.
        guard let deadline = state.book.deadline, deadline < state.alarm?.at ?? .distantFuture else { return }
        state.alarm?.task.cancel()
        // SAFETY: holds the desk weakly; cancelled at the end, or by an earlier alarm.
        let task = Task { [weak self, time] in
            if (try? await time.sleep(deadline)) != nil { self?.ring(deadline) }
        }
        state.alarm = (deadline, task)
    }

    private func ring(_ moment: Moment) {
        change { state, now in
            if state.alarm?.at == moment { state.alarm = nil }  // Otherwise an earlier alarm has taken its place.
            state.book.wake(at: now, into: &state.effects)
        }
    }

    // MARK: - The app

    func subscribe(_ patterns: [SymbolPattern]) -> QuoteSubscription {
        var id: Int64 = 0
        change { state, now in
            state.lastSubscription += 1
            id = state.lastSubscription
            state.book.handle(.subscribe(id: id, patterns), at: now, into: &state.effects)
        }
        return QuoteSubscription(id: id, patterns: patterns)
    }

    func unsubscribe(_ id: Int64) {
        change { state, now in
            state.refusals[id] = nil
            state.book.handle(.unsubscribe(id: id), at: now, into: &state.effects)
        }
    }

    func refusal(of id: Int64) -> QuoteRefusal? { state.withLockedValue { $0.refusals[id] } }

    var quotes: [Quote] { state.withLockedValue { state in (0..<state.book.count).compactMap { state.book[$0] } } }

    func quote(of symbol: String) -> Quote? { state.withLockedValue { state in state.book.place(of: symbol).flatMap { state.book[$0] } } }

    var isCurrent: Bool { state.withLockedValue { $0.book.phase == .following } }
    var age: Duration? { state.withLockedValue { state in state.book.heard.map { time.now() - $0 } } }
    var counts: QuoteCounts { state.withLockedValue(\.book.counts) }
    var complaint: String? { state.withLockedValue(\.complaint) }
    var closure: Closure? { state.withLockedValue(\.closure) }

    // MARK: - Readers

    func addReader() -> UInt64 {
        state.withLockedValue { state in
            state.lastReader += 1
            var reader = Reader()
            for place in 0..<state.book.count where state.book[place] != nil { reader.changes.note(place) }
            state.readers[state.lastReader] = reader
            return state.lastReader
        }
    }

    func removeReader(_ id: UInt64) { state.withLockedValue { _ = $0.readers.removeValue(forKey: id) } }

    /// Waits until something has changed; false at the end, or when the task is cancelled.
    func hasChanges(for id: UInt64, isolation actor: isolated (any Actor)? = #isolation) async -> Bool {
        while !Task.isCancelled {
            let (hasChanges, isOver) = state.withLockedValue { ($0.readers[id]?.changes.isEmpty == false, $0.isOver) }
            if hasChanges { return true }
            if isOver { return false }
            await withTaskCancellationHandler {
                await withCheckedContinuation { place in
                    let mustWait = state.withLockedValue { state in
                        guard !Task.isCancelled, !state.isOver, state.readers[id]?.changes.isEmpty == true else { return false }
                        state.readers[id]?.waiting = place
                        return true
                    }
                    if !mustWait { place.resume() }
                }
            } onCancel: {
                state.withLockedValue { $0.readers[id]?.waiting.take() }?.resume()
            }
        }
        return false
    }

    func takeChanges(of id: UInt64) -> QuoteUpdate {
        state.withLockedValue { state in
            var update = QuoteUpdate()
            while let place = state.readers[id]?.changes.popFirst() {
                if let quote = state.book[place] { update.quotes.append(quote) } else { update.removed.append(state.book.name(of: place)) }
            }
            return update
        }
    }
}
