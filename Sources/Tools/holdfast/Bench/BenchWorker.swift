import Foundation
import Holdfast

/// The work of one benchmark connection: sends the due messages, receives the replies, and counts.
///
/// It is an actor, so that the sending and the receiving task share its state without a lock for every message.
actor BenchWorker {
    /// How the work of a connection ended.
    enum End: Sendable {
        case finished
        /// The measurement was cancelled early.
        case stopped
        /// The other side closed the connection normally, but too early.
        case closed(CloseRecord)
        case failed(WebSocketError)

        var isStopped: Bool { if case .stopped = self { true } else { false } }
    }

    private let connection: WebSocketConnection
    private let plan: BenchPlan
    private let schedule: Schedule?
    private let board: Scoreboard
    private let start: ContinuousClock.Instant
    private var payload: BenchPayload
    private var flight: Flight
    private var batch = Tally.Batch(since: .zero)
    private var hasSentAll = false

    init(_ connection: WebSocketConnection, place: Int, plan: BenchPlan, board: Scoreboard, start: ContinuousClock.Instant) {
        (self.connection, self.plan, self.board, self.start) = (connection, plan, board, start)
        (payload, flight, schedule) = (plan.payload, Flight(depth: plan.depth), plan.schedule(ofConnection: place))
    }

    /// Works until the end and the last reply, but no longer than the plan's wait time after the end.
    func run() async -> End {
        let end = await withTaskGroup(of: End.self) { group in
            group.addTask { await self.receive() }
            group.addTask { await self.keepSending() }
            let end = await group.next() ?? .finished
            group.cancelAll()
            return end
        }
        settle(isCutShort: end.isStopped)
        await board.add(batch)
        return end
    }

    /// Counts what is missing at the end.
    private func settle(isCutShort: Bool) {
        batch.counts.lost += flight.passedOver
        // When the measurement was cut short, messages in flight were not waited for, and unsent ones with room would still have been
        // sent.
        if !isCutShort { batch.counts.lost += flight.count }
        if let schedule, !(isCutShort && flight.hasRoom) {
            batch.counts.unsent += max(0, schedule.count(before: min(elapsed, plan.end)) - flight.next)
        }
    }

    private var elapsed: Duration { start.duration(to: .now) }

    private func receive() async -> End {
        do throws(WebSocketError) {
            for try await message in connection.messages {
                let now = elapsed
                take(message, at: now)
                if now < plan.end { sendWhatIsDue(at: now) }
                if hasSentAll, flight.isEmpty { return .finished }
                if batch.isDue(at: now) {
                    await notify(at: now)
                    if Task.isCancelled { return .stopped }
                }
            }
        } catch {
            return error.code == .cancelled ? .stopped : .failed(error)
        }
        return .closed(await connection.close())
    }

    private func take(_ reply: Message, at now: Duration) {
        if plan.isMeasured(now) {
            batch.counts.received += 1
            batch.counts.receivedBytes += reply.byteCount
        }
        guard let number = payload.number(in: reply) else {
            flight.receivedOther()
            batch.counts.wrong += 1
            return
        }
        switch flight.received(number, mask: payload.mask) {
        // Replies after the end count too: the slowest replies come last.
        case .expected(let time): if now >= plan.warmUp { batch.answered(after: now - time) }
        case .disordered, .unasked: batch.counts.disordered += 1
        }
    }

    /// Sends the messages that are due, as long as there is room and the connection accepts them without waiting.
    private func sendWhatIsDue(at now: Duration) {
        while flight.hasRoom {
            // Without a schedule, a message is due as soon as there is room.
            let time = schedule?.time(of: flight.next) ?? now
            guard time <= now, time < plan.end, offer(payload.message(flight.next)) else { return }
            flight.sent(meantFor: time)
            guard now >= plan.warmUp else { continue }
            batch.counts.sent += 1
            if schedule != nil { batch.left(after: now - time) }
        }
    }

    private func offer(_ message: Message) -> Bool {
        // A failure is ignored here, because the receiving task gets the same failure.
        do throws(WebSocketError) { return try connection.offer(message) } catch { return false }
    }

    /// Sends the first messages, and with a schedule all others; then waits for replies until the wait time is over.
    private func keepSending() async -> End {
        var now = elapsed
        while now < plan.end {
            sendWhatIsDue(at: now)
            if batch.isDue(at: now) { await notify(at: now) }
            guard await sleep(until: nextLook(after: now)) else { return .stopped }
            now = elapsed
        }
        sendWhatIsDue(at: now)
        hasSentAll = true
        if !flight.isEmpty {
            guard await sleep(until: plan.end + plan.wait) else { return .stopped }
        }
        return .finished
    }

    private func nextLook(after now: Duration) -> Duration {
        // Without a schedule, replies trigger the next messages, unless the first ones could not be sent.
        guard let schedule else { return flight.isEmpty ? now + .milliseconds(1) : plan.end }
        // Overdue messages wait for room; the reply that makes room sends them.
        let next = schedule.time(of: max(flight.next, schedule.count(before: now)))
        return min(flight.hasRoom ? next : max(next, now + .milliseconds(1)), plan.end)
    }

    private func sleep(until time: Duration) async -> Bool {
        (try? await Task.sleep(until: start + time, tolerance: .zero, clock: .continuous)) != nil
    }

    private func notify(at now: Duration) async {
        let told = batch
        batch = Tally.Batch(since: now)
        await board.add(told)
    }
}

/// Opens the connections of a benchmark before it, and closes them after it.
enum Lanes {
    /// The number of simultaneous handshakes.
    private static let handshakes = 32

    /// Opens this many connections, or none: the first failure drops all.
    static func open(
        _ count: Int, to url: WebSocketURL, _ configuration: WebSocketConfiguration
    ) async throws(WebSocketError) -> [WebSocketConnection] {
        typealias Attempt = Result<WebSocketConnection, WebSocketError>
        let (connections, failure) = await withTaskGroup(of: Attempt.self) { group in
            let attempt = { @Sendable () async -> Attempt in
                do throws(WebSocketError) {
                    return .success(try await WebSocketConnection.connect(to: url.string, configuration: configuration))
                } catch {
                    return .failure(error)
                }
            }
            var connections: [WebSocketConnection] = []
            var failure: WebSocketError?
            for _ in 0..<min(count, handshakes) { group.addTask { await attempt() } }
            var begun = min(count, handshakes)
            while let result = await group.next() {
                switch result {
                case .success(let connection): connections.append(connection)
                case .failure(let error):
                    // Later failures are mostly consequences of the first one, or cancellations.
                    failure = failure ?? error
                    group.cancelAll()
                }
                if failure == nil, begun < count {
                    begun += 1
                    group.addTask { await attempt() }
                }
            }
            return (connections, failure)
        }
        guard let failure else { return connections }
        for connection in connections { connection.abort() }
        throw failure
    }

    static func close(_ connections: [WebSocketConnection]) async {
        await withDiscardingTaskGroup { group in
            for connection in connections { group.addTask { await connection.close() } }
        }
    }
}

/// The messages of one connection that wait for their replies, oldest first.
struct Flight: Hashable, Sendable {
    /// The kind of a reply.
    enum Reply: Hashable, Sendable {
        /// The expected reply; its message was due at this time.
        case expected(Duration)
        /// A reply that is out of order.
        case disordered
        /// A reply that no message waited for.
        case unasked
    }

    /// The due times of the messages, as a ring buffer.
    private var times: [Duration]
    /// The number of the oldest message.
    private(set) var oldest = 0
    /// The number of the next message to send.
    private(set) var next = 0

    /// Creates room for this many messages.
    init(depth: Int) { times = Array(repeating: .zero, count: depth) }

    /// The number of messages that a reply to a later message skipped, and that still have no reply.
    private(set) var passedOver = 0

    var count: Int { next - oldest }
    var isEmpty: Bool { count == 0 }
    var hasRoom: Bool { count < times.count }

    /// Adds a message that is sent now; there must be room.
    mutating func sent(meantFor time: Duration) {
        times[next % times.count] = time
        next += 1
    }

    /// Processes a reply with this number, of which only the bits in `mask` are known.
    mutating func received(_ number: UInt64, mask: UInt64) -> Reply {
        let ahead = (number &- UInt64(truncatingIfNeeded: oldest)) & mask
        guard ahead < UInt64(count) else {
            guard passedOver > 0 else { return .unasked }
            passedOver -= 1
            return .disordered
        }
        let time = times[oldest % times.count]
        oldest += Int(ahead) + 1
        passedOver += Int(ahead)
        return ahead == 0 ? .expected(time) : .disordered
    }

    /// Processes a reply that is not an echo: it answers the oldest message, if there is one.
    mutating func receivedOther() { oldest = min(oldest + 1, next) }
}

/// The schedule of one connection at a fixed total rate; the messages of all connections interleave evenly.
struct Schedule: Hashable, Sendable {
    /// Messages per second over all connections.
    let rate: Double
    let connections: Int
    /// The index of this connection, from 0.
    let place: Int

    /// Returns when a message is due, counted from the start.
    func time(of number: Int) -> Duration {
        .nanoseconds(Int64(Double(number * connections + place) / rate * 1e9))
    }

    /// Returns how many messages are due before a time.
    func count(before time: Duration) -> Int {
        // Rounding may make the estimate off by one; `time(of:)` decides.
        let turns = time / .seconds(1) * rate
        var count = max(0, Int((turns - Double(place)) / Double(connections)) - 1)
        while self.time(of: count) < time { count += 1 }
        return count
    }
}

/// Collects the batches of all connections.
actor Scoreboard {
    private var before = Tally()
    private var recent = Tally()

    func add(_ batch: Tally.Batch) { recent.add(batch) }

    /// Returns the counts since the last call, and the number of errors before them.
    func takeRecent() -> (recent: Tally, errors: Int) {
        let taken = recent
        before.add(recent)
        recent = Tally()
        return (taken, before.counts.errors)
    }

    func total() -> Tally {
        var total = before
        total.add(recent)
        return total
    }
}

/// The limit of open files, and so of connections, of this process.
enum OpenFiles {
    /// Files besides the connections: event loops, terminal, libraries, a server's reserve, and clients that it refuses because it is full.
    private static let others = 384

    /// Raises the process's limit, as far as allowed, to hold this many connections; returns the number that fits.
    static func makeRoom(forConnections count: Int) -> Int {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return count }
        let wanted = rlim_t(count + others)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(wanted, limit.rlim_max)
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return max(min(count, Int(clamping: limit.rlim_cur) - others), 1)
    }

    /// Returns how many connections one address may have: as many as allowed, but never more than half of all.
    static func share(ofConnections all: Int, allowed: Int = .max) -> Int { max(min(allowed, all / 2), 1) }
}
