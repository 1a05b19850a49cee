import MachineCore
import StreamCore
import WebSocketRuntime

/// Runs a `Batcher` and an `AdaptiveRate` with the clock of a session, and sends the batches.
///
/// A task runs only while a batch is due or being sent, and a timer only while values wait.
final class TelemetryQueue<Value: Encodable & Sendable>: HeldSender {
    private struct State {
        var batcher: Batcher<Value>
        var rate: AdaptiveRate?
        /// The approximate size of a value in bytes, measured in the last batch.
        var valueSize = 64
        /// The counts that the metrics already have.
        var told = TelemetryCounts()
    }
    private typealias Change = (inout State, Moment, inout [Batcher<Value>.Effect]) -> Void

    private let options: TelemetryOptions
    private let batchSender: BatchSender
    private let encoding: BatchEncoding
    private let meters: TelemetryMeters?
    private let timer: DeadlineTimer
    private let changes = Changes()
    private let state: LockedValue<State>

    init(_ session: LiveSession, _ codec: any MessageCodec, _ options: TelemetryOptions) {
        (self.options, batchSender, timer) = (options, BatchSender(session: session, lane: options.lane), DeadlineTimer(session.time))
        encoding = BatchEncoding(codec: codec, limit: options.batch.bytes, onFailure: options.onFailure)
        meters = session.instruments.meters?.telemetry
        state = LockedValue(State(batcher: Batcher(options.batch), rate: options.adapts.map(AdaptiveRate.init)))
        if options.adapts != nil { meters?.keeps(.all) }
        session.held.add(self)
    }

    var counts: TelemetryCounts { state.withLockedValue({ $0.batcher.counts }) }
    var share: SampleShare { state.withLockedValue({ $0.batcher.share }) }

    func record(_ value: Value) {
        run { state, now, effects in
            state.batcher.handle(.record(value, byteCount: state.valueSize), at: now, into: &effects)
            // Checked here, because while there is no connection no other event may come for a long time.
            if let adapts = options.adapts, state.batcher.waitingBytes > adapts.backlog / 2 { look(&state, now, &effects) }
        }
    }

    /// Waits until all values recorded so far have an outcome; returns false after the time limit or a cancellation.
    func flush(within limit: Duration?) async -> Bool {
        run { $0.batcher.handle(.flush, at: $1, into: &$2) }
        let recorded = counts.recorded
        if isSettled(recorded) { return true }
        return await batchSender.wait(limit) { [self] in
            while true {
                let version = changes.version
                if isSettled(recorded) { return true }
                if Task.isCancelled { return false }
                await changes.next(after: version)
            }
        }
    }

    private func isSettled(_ recorded: Int) -> Bool { state.withLockedValue { $0.batcher.isSettled(through: recorded) } }

    // MARK: - Session events

    func prepareToClose() async { _ = await flush(within: options.flushTimeout) }

    func close() {
        run { $0.batcher.handle(.close, at: $1, into: &$2) }
        leaveIfDone()
    }

    func end() {
        run { $0.batcher.handle(.end, at: $1, into: &$2) }
        timer.cancel()
        notifyMetrics()
        changes.announce()
        leaveIfDone()
    }

    func connected() { adapt(.connected) }

    func roundTrip(_ time: Duration) { adapt(.roundTrip(time)) }

    // MARK: - Steps

    /// Changes the state, and starts to send if a batch is due.
    private func run(_ change: Change) { if apply(change) { begin() } }

    /// Changes the state; returns whether a batch became due.
    private func apply(_ change: Change) -> Bool {
        let now = Moment(batchSender.now)
        var effects: [Batcher<Value>.Effect] = []
        let deadline = state.withLockedValue { state in
            change(&state, now, &effects)
            guard let deadline = state.batcher.deadline else { return state.rate?.deadline }
            return min(deadline, state.rate?.deadline ?? deadline)
        }
        // Only the first value of a batch sets the timer, so the others need no allocation.
        if let deadline, timer.ringsAfter(deadline) { timer.set(deadline) { [weak self] in self?.wake() } }
        return effects.contains { if case .due = $0 { true } else { false } }
    }

    private func wake() {
        run { state, now, effects in
            state.batcher.wake(at: now, into: &effects)
            var orders: [AdaptiveRate.Effect] = []
            state.rate?.wake(at: now, into: &orders)
            if !orders.isEmpty { look(&state, now, &effects) }
        }
    }

    /// Tells the adaptive rate how much waits to be sent, here and in the session's queue.
    private func look(_ state: inout State, _ now: Moment, _ effects: inout [Batcher<Value>.Effect]) {
        adapt(&state, .backlog(state.batcher.waitingBytes + batchSender.session.sendDriver.depth.bytes), now, &effects)
    }

    private func adapt(_ input: AdaptiveRate.Input) {
        guard options.adapts != nil else { return }
        run { state, now, effects in adapt(&state, input, now, &effects) }
    }

    private func adapt(_ state: inout State, _ input: AdaptiveRate.Input, _ now: Moment, _ effects: inout [Batcher<Value>.Effect]) {
        var orders: [AdaptiveRate.Effect] = []
        state.rate?.handle(input, at: now, into: &orders)
        for case .keep(let share) in orders {
            state.batcher.handle(.keep(share), at: now, into: &effects)
            meters?.keeps(share)
        }
    }

    // MARK: - Batches

    private func begin() {
        // SAFETY: ends with the batches that are due, at the latest with the session.
        Task { await handOver() }
    }

    /// Sends the due batches one after another.
    private func handOver() async {
        while await batchSender.ready() {
            guard let values = take() else { break }
            let isNextDue = await carry(values)
            notifyMetrics()
            changes.announce()
            if !isNextDue { break }
        }
        leaveIfDone()
    }

    private func take() -> [Value]? {
        var effects: [Batcher<Value>.Effect] = []
        let now = Moment(batchSender.now)
        state.withLockedValue { $0.batcher.handle(.take, at: now, into: &effects) }
        for case .hand(let values) in effects { return values }
        return nil
    }

    /// Sends one batch; returns whether the next is due.
    private func carry(_ values: [Value]) async -> Bool {
        let batches = encoding.batches(of: values)
        let encoded = batches.reduce(0) { $0 + $1.count }
        let bytes = batches.reduce(0) { $0 + $1.message.byteCount }
        var (sent, uncertain) = (0, 0)
        for (message, count) in batches {
            switch await batchSender.carry(message) {
            case .written: sent += count
            case .unknown: uncertain += count
            case .lost: break
            }
        }
        return apply { state, now, effects in
            if encoded > 0 { state.valueSize = max(bytes / encoded, 1) }
            let unencodable = values.count - encoded
            state.batcher.handle(.finished(sent: sent, uncertain: uncertain, unencodable: unencodable), at: now, into: &effects)
            look(&state, now, &effects)
        }
    }

    private func notifyMetrics() {
        guard let meters else { return }
        let (new, old) = state.withLockedValue { state in
            defer { state.told = state.batcher.counts }
            return (state.batcher.counts, state.told)
        }
        meters.add(new, since: old)
    }

    /// Leaves the session when the line is closed and holds no values.
    private func leaveIfDone() {
        let isDone = state.withLockedValue { $0.batcher.isClosed && $0.batcher.isSettled(through: .max) }
        guard isDone else { return }
        timer.cancel()
        notifyMetrics()
        batchSender.session.held.remove(self)
    }
}
