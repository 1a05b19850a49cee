import HoldfastRooms
import WebSocketRuntime

/// Sends lines as messages, and tells of each what has become of it, in their order.
///
/// What is wrong with one keeps back none of the others.
struct LineSender: Sendable {
    enum Fate: Sendable {
        case stored(MessageID, LogPosition)
        /// It is not known to be stored; without a name: it was not taken into the outbox.
        case failed(MessageID?, RoomsError)
        /// It cannot be a message, and why.
        case unfit(String)
    }
    private enum Step: Sendable {
        case queued(Receipt, at: ContinuousClock.Instant)
        case over(Fate)
    }
    let rooms: Rooms
    /// How long to wait for one to be stored, after the one before it was.
    let patience: Duration
    /// Empty lines are no messages.
    let skipsEmpty: Bool
    /// Puts a text into the outbox; nil: it is no JSON.
    let submit: @Sendable (String) async throws(RoomsError) -> Receipt?
    /// When the last was stored: all that waited meanwhile were not to be.
    private let progress = LockedValue(ContinuousClock.now)

    init(
        rooms: Rooms, patience: Duration, skipsEmpty: Bool = false,
        submit: @escaping @Sendable (String) async throws(RoomsError) -> Receipt?
    ) {
        (self.rooms, self.patience, self.skipsEmpty, self.submit) = (rooms, patience, skipsEmpty, submit)
    }

    /// Returns when the lines have ended and all were told of: clean, or how the last that went wrong counts; and the place of the last.
    func send(
        _ lines: Lines, after waiting: [Receipt] = [], tell: @escaping @Sendable (Fate) -> Void
    ) async -> (outcome: Outcome, last: LogPosition?) {
        let (steps, queue) = AsyncStream.makeStream(of: Step.self)
        return await withTaskGroup(of: (Outcome, LogPosition?).self) { group in
            group.addTask {
                var (outcome, last) = (Outcome.clean, LogPosition?.none)
                for await step in steps {
                    let fate = await fate(of: step)
                    switch fate {
                    case .stored(_, let position): last = position
                    case .failed(_, let error): outcome = Outcome(error)
                    case .unfit: outcome = .badInput
                    }
                    tell(fate)
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
                    return .over(.unfit("\(text.escapedOnOneLine.prefix(80)) is no JSON"))
                }
                return .queued(receipt, at: .now)
            } catch {
                return .over(.failed(nil, cause(of: error)))
            }
        }
    }

    private func submit(_ text: String, after last: Step?) async throws(RoomsError) -> Receipt? {
        do throws(RoomsError) { return try await submit(text) } catch {
            // A full outbox takes more once what waits there is stored: the rest of the input waits, too.
            guard case .notQueued = error, error.isRetryable, case .queued(let receipt, let moment)? = last else { throw error }
            _ = try? await receipt.stored(within: patience(since: moment))
            return try await submit(text)
        }
    }

    private func fate(of step: Step) async -> Fate {
        switch step {
        case .over(let fate): return fate
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

    /// How long is left to wait for one that was queued then.
    private func patience(since moment: ContinuousClock.Instant) -> Duration {
        max(.zero, patience - (.now - max(moment, progress.withLockedValue(\.self))))
    }

    /// Who waits when the rooms end is cancelled with them; what ended them says more.
    private func cause(of error: RoomsError) -> RoomsError {
        switch (error, rooms.state) {
        case (.cancelled, .closed(let end?)), (.closed, .closed(let end?)): end
        default: error
        }
    }
}

/// What is to be sent: the texts that were given, or else the lines of standard input as they come.
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
