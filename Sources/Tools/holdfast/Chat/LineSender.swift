import HoldfastRooms
import HoldfastTerminal
import WebSocketRuntime

/// Sends lines as messages, and reports the outcome of each, in their order.
///
/// A failure of one line does not hold back the others.
struct LineSender: Sendable {
    /// What became of a line.
    enum LineResult: Sendable {
        case stored(MessageID, LogPosition)
        /// Not known to be stored; without an ID, the outbox did not accept it.
        case failed(MessageID?, RoomsError)
        /// Not a valid message; the reason in words.
        case unfit(String)
    }
    private enum Step: Sendable {
        case queued(Receipt, at: ContinuousClock.Instant)
        case over(LineResult)
    }
    let rooms: Rooms
    /// How long to wait for a message to be stored, after the previous one was stored.
    let patience: Duration
    /// Whether empty lines are skipped.
    let skipsEmpty: Bool
    /// Adds a text to the outbox; returns nil if it is not JSON.
    let submit: @Sendable (String) async throws(RoomsError) -> Receipt?
    /// When the last message was stored: messages that waited for it did not use up their own time.
    private let progress = LockedValue(ContinuousClock.now)

    init(
        rooms: Rooms, patience: Duration, skipsEmpty: Bool = false,
        submit: @escaping @Sendable (String) async throws(RoomsError) -> Receipt?
    ) {
        (self.rooms, self.patience, self.skipsEmpty, self.submit) = (rooms, patience, skipsEmpty, submit)
    }

    /// Returns after the lines have ended and all outcomes were reported: the outcome of the last failure, or clean, and the last position.
    func send(
        _ lines: Lines, after waiting: [Receipt] = [], notify: @escaping @Sendable (LineResult) -> Void
    ) async -> (outcome: Outcome, last: LogPosition?) {
        let (steps, queue) = AsyncStream.makeStream(of: Step.self)
        return await withTaskGroup(of: (Outcome, LogPosition?).self) { group in
            group.addTask {
                var (outcome, last) = (Outcome.clean, LogPosition?.none)
                for await step in steps {
                    let result = await result(of: step)
                    switch result {
                    case .stored(_, let position): last = position
                    case .failed(_, let error): outcome = Outcome(error)
                    case .unfit: outcome = .badInput
                    }
                    notify(result)
                }
                return (outcome, last)
            }
            for receipt in waiting { queue.yield(.queued(receipt, at: .now)) }
            var last = waiting.last.map { Step.queued($0, at: .now) }
            for await line in lines where !skipsEmpty || line != .text("") {
                let step = await submit(line, after: last)
                if case .queued = step { last = step }
                queue.yield(step)
            }
            queue.finish()
            return await group.next() ?? (.failed, nil)
        }
    }

    private func submit(_ line: LineSplitter.Line, after last: Step?) async -> Step {
        switch line {
        case .invalid(let number): return .over(.unfit("line \(number) is not UTF-8"))
        case .text(let text):
            do throws(RoomsError) {
                guard let receipt = try await submit(text, after: last) else {
                    return .over(.unfit("\(text.escapedOnOneLine.prefix(80)) is not JSON"))
                }
                return .queued(receipt, at: .now)
            } catch {
                return .over(.failed(nil, cause(of: error)))
            }
        }
    }

    private func submit(_ text: String, after last: Step?) async throws(RoomsError) -> Receipt? {
        do throws(RoomsError) { return try await submit(text) } catch {
            // A full outbox accepts more once its messages are stored; the rest of the input waits, too.
            guard case .notQueued = error, error.isRetryable, case .queued(let receipt, let moment)? = last else { throw error }
            _ = try? await receipt.stored(within: patience(since: moment))
            return try await submit(text)
        }
    }

    private func result(of step: Step) async -> LineResult {
        switch step {
        case .over(let result): return result
        case .queued(let receipt, let moment):
            do throws(RoomsError) {
                let position = try await receipt.stored(within: patience(since: moment))
                progress.withLockedValue { $0 = .now }
                return .stored(receipt.id, position)
            } catch {
                return .failed(receipt.id, cause(of: error))
            }
        }
    }

    /// Returns how much longer to wait for a message that was queued at this moment.
    private func patience(since moment: ContinuousClock.Instant) -> Duration {
        max(.zero, patience - (.now - max(moment, progress.withLockedValue({ $0 }))))
    }

    /// A wait that the end of the rooms cancelled has the end's error as its cause, which says more.
    private func cause(of error: RoomsError) -> RoomsError {
        switch (error, rooms.state) {
        case (.cancelled, .closed(let end?)), (.closed, .closed(let end?)): end
        default: error
        }
    }
}

/// The lines to send: the given texts, or else the lines of standard input as they come.
struct Lines: AsyncSequence, Sendable {
    typealias Element = LineSplitter.Line
    typealias Failure = Never
    var texts: [String] = []
    private let input = StandardInput()

    init(texts: [String]) { self.texts = texts }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(given: texts.isEmpty ? nil : texts.map { .text($0) }, input: input) }

    struct AsyncIterator: AsyncIteratorProtocol {
        typealias Failure = Never
        var given: [LineSplitter.Line]?
        let input: StandardInput
        var splitter = LineSplitter()
        var ready: [LineSplitter.Line] = []
        var isOver = false

        init(given: [LineSplitter.Line]?, input: StandardInput) { (self.given, self.input) = (given, input) }

        mutating func next() async -> LineSplitter.Line? {
            if given != nil { return given?.isEmpty == false ? given?.removeFirst() : nil }
            while ready.isEmpty, !isOver {
                if let bytes = await input.read() {
                    ready = splitter.split(bytes)
                } else {
                    isOver = true
                    ready = splitter.finish().map { [$0] } ?? []
                }
            }
            return ready.isEmpty ? nil : ready.removeFirst()
        }
    }
}
