import DequeModule
import MachineCore
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Runs an `OutboxMachine` with the clock, the connections and the messages of a session.
///
/// One task gives messages to the present connection. Another task reads answers while messages wait and no other party reads.
final class OutboxDriver<ID: Codable & Hashable & Sendable>: HeldSender {
    private typealias Rules = OutboxMachine<ID>

    private struct State {
        var rules: Rules
        /// The outcomes of the last finished messages, the oldest first, for callers that ask late.
        var outcomes: [ID: OutboxOutcome] = [:]
        var ended: Deque<ID> = []
        var isClosed = false
        var tasks: [Task<Void, Never>] = []
    }
    private static var outcomesKept: Int { 1024 }

    private let session: LiveSession
    private let hub: EventHub
    private let file: OutboxFile<ID>?
    private let timer: DeadlineTimer
    private let listener: EventHub.Share.Party
    private let state: LockedValue<State>
    /// Wakes the tasks when there may be something to do.
    private let work = Changes()
    /// Wakes waiting callers when the list of messages has changed.
    let news = Changes()

    init(
        _ socket: WebSocket, _ policy: OutboxPolicy, _ file: OutboxFile<ID>?, _ stored: [OutboxFile<ID>.Stored],
        _ answer: @escaping @Sendable (Message) -> OutboxAnswer<ID>?
    ) {
        (session, hub, self.file, timer) = (socket.session, socket.hub, file, DeadlineTimer(socket.session.time))
        state = LockedValue(State(rules: Rules(policy, stored: stored)))
        listener = hub.newListener()
        hub.listen(listener) { [weak self] message in
            guard let answer = answer(message) else { return false }
            self?.apply(.answered(answer))
            return true
        }
        session.held.add(self)
        // SAFETY: both are kept in the state, cancelled by `stop`, and end with the session.
        let tasks = [Task { await handOver() }, Task { await readAnswers() }]
        state.withLockedValue { $0.tasks = tasks }
    }

    func stop() {
        let tasks = state.withLockedValue { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        timer.cancel()
        hub.stopListening(listener)
        session.held.remove(self)
    }

    var isClosed: Bool { state.withLockedValue({ $0.isClosed }) }
    var waiting: [OutboxMessage<ID>] { state.withLockedValue { $0.rules.messages.map { OutboxMessage(id: $0.id, message: $0.message) } } }

    // MARK: - Messages

    func add(_ id: ID, _ message: Message) async throws(OutboxError) {
        if isClosed { throw .closed }
        for effect in apply(.add(id, message)) {
            switch effect {
            case .full: throw .full
            case .duplicate: throw .duplicate
            case .accepted(let serial): try await store(serial, id, message)
            default: break
            }
        }
    }

    private func store(_ serial: UInt64, _ id: ID, _ message: Message) async throws(OutboxError) {
        do throws(OutboxError) {
            try await file?.add((serial, id, message))
        } catch {
            apply(.unstored(serial))
            // Wakes the callers that wait for all messages or for this one.
            news.announce()
            throw error
        }
        apply(.stored(serial))
        // It may have been withdrawn meanwhile; the file then got the removal before the message.
        if !state.withLockedValue({ $0.rules.contains(serial: serial) }) { await file?.remove(serial) }
    }

    func withdraw(_ id: ID) -> Bool { apply(.withdraw(id)).contains { if case .ended = $0 { true } else { false } } }

    /// Waits for the outcome of a message; nil if no message has this id, if the task is cancelled, or once the socket is closed.
    func outcome(of id: ID) async -> OutboxOutcome? {
        while true {
            let version = news.version
            let (outcome, isWaiting, isClosed) = state.withLockedValue { ($0.outcomes[id], $0.rules.contains(id), $0.isClosed) }
            // The outcome may be of an earlier message with this id, so look first whether one is waiting.
            if !isWaiting { return outcome }
            if isClosed || Task.isCancelled { return nil }
            await news.next(after: version)
        }
    }

    func flush(within limit: Duration?) async -> Bool {
        await BatchSender(session: session, lane: .normal).wait(limit) { [self] in
            while true {
                let version = news.version
                let (isEmpty, isClosed) = state.withLockedValue { ($0.rules.isEmpty, $0.isClosed) }
                if isEmpty { return true }
                if isClosed || Task.isCancelled { return false }
                await news.next(after: version)
            }
        }
    }

    // MARK: - Session events

    func connected() { work.announce() }

    func end() {
        state.withLockedValue { $0.isClosed = true }
        timer.cancel()
        work.announce()
        news.announce()
    }

    // Messages here wait for an acknowledgement and stay stored, so nothing has to be sent before the session ends.
    func prepareToClose() async {}
    func close() {}
    func roundTrip(_ time: Duration) {}

    // MARK: - Steps

    @discardableResult private func apply(_ input: Rules.Input) -> [Rules.Effect] { run { $0.handle(input, at: $1, into: &$2) } }

    @discardableResult private func run(_ change: (inout Rules, Moment, inout [Rules.Effect]) -> Void) -> [Rules.Effect] {
        let now = Moment(session.instruments.now())
        var effects: [Rules.Effect] = []
        let deadline = state.withLockedValue { state in
            change(&state.rules, now, &effects)
            for case .ended(_, let id, let outcome) in effects { Self.note(id, outcome, in: &state) }
            return state.isClosed ? nil : state.rules.deadline
        }
        if let deadline, timer.ringsAfter(deadline) {
            timer.set(deadline) { [weak self] in self?.run { $0.wake(at: $1, into: &$2) } }
        }
        var (isNews, isDue) = (false, false)
        for effect in effects {
            switch effect {
            case .ended(let serial, _, _):
                // SAFETY: one step of the file actor; no caller waits for it.
                if let file { Task { await file.remove(serial) } }
                isNews = true
            case .accepted: isNews = true
            case .due: isDue = true
            case .send, .full, .duplicate: break
            }
        }
        if isNews { news.announce() }
        if isDue { work.announce() }
        return effects
    }

    private static func note(_ id: ID, _ outcome: OutboxOutcome, in state: inout State) {
        if state.outcomes.updateValue(outcome, forKey: id) == nil { state.ended.append(id) }
        if state.ended.count > outcomesKept { state.outcomes[state.ended.removeFirst()] = nil }
    }

    // MARK: - Tasks

    /// Sends the messages over the present connection one after another, and all of them again over the next one.
    private func handOver() async {
        var link: (any MessageTransport)?
        while !Task.isCancelled {
            let version = work.version
            guard let connection = try? await session.presentConnection() else { return }
            if connection.transport !== link {
                link = connection.transport
                apply(.connected)
            }
            while let (serial, message) = take() {
                do throws(WebSocketError) {
                    try await connection.send(message)
                    apply(.sent(serial))
                } catch {
                    guard error.code == .tooLarge else {
                        apply(.unsent(serial))
                        break
                    }
                    apply(.unsendable(serial, reason: "\(error)"))
                }
            }
            await work.next(after: version)
        }
    }

    private func take() -> (serial: UInt64, message: Message)? {
        for case .send(let serial, let message) in apply(.take) { return (serial, message) }
        return nil
    }

    private func readAnswers() async {
        // A party that was called to read but does not must let another one read.
        defer { hub.pass(listener) }
        while !Task.isCancelled, !isClosed {
            let version = work.version
            if state.withLockedValue({ $0.rules.isEmpty }) {
                hub.pass(listener)
                await work.next(after: version)
            } else if await !hub.readOnce(for: listener) {
                return
            }
        }
    }
}
