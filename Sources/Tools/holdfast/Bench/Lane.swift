import Foundation
import Holdfast

/// One connection of a benchmark at work: sends what is due, takes the replies, and counts.
///
/// An actor, so that the task that sends and the one that receives share its state without a lock for every message.
actor Lane {
    /// How the work of a connection ended.
    enum End: Sendable {
        case finished
        /// The time was cut short from outside.
        case stopped
        /// The other side closed in peace, before its time.
        case closed(CloseRecord)
        case failed(WebSocketError)

        var isStopped: Bool { if case .stopped = self { true } else { false } }
    }

    private let connection: WebSocketConnection
    private let plan: BenchPlan
    private let schedule: Schedule?
    private let board: Scoreboard
    private let start: ContinuousClock.Instant
    private var payload: Payload
    private var flight: Flight
    private var batch = Tally.Batch(since: .zero)
    private var hasSentAll = false

    init(_ connection: WebSocketConnection, place: Int, plan: BenchPlan, board: Scoreboard, start: ContinuousClock.Instant) {
        (self.connection, self.plan, self.board, self.start) = (connection, plan, board, start)
        (payload, flight, schedule) = (plan.payload, Flight(depth: plan.depth), plan.schedule(ofConnection: place))
    }

    /// Works until the end and the last reply, at the latest until the plan's patience is over.
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
        // When the time was cut short, what is in flight was not waited for, and what has room would have left by and by.
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
                    await tell(at: now)
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
        // After the end too: the slowest replies come last.
        case .expected(let time): if now >= plan.warmUp { batch.answered(after: now - time) }
        case .disordered, .unasked: batch.counts.disordered += 1
        }
    }

    /// Sends as much as is due, as there is room for, and as the connection takes without waiting.
    private func sendWhatIsDue(at now: Duration) {
        while flight.hasRoom {
            // Without a schedule a message is due as soon as there is room.
            let time = schedule?.time(of: flight.next) ?? now
            guard time <= now, time < plan.end, offer(payload.message(flight.next)) else { return }
            flight.sent(meantFor: time)
            guard now >= plan.warmUp else { continue }
            batch.counts.sent += 1
            if schedule != nil { batch.left(after: now - time) }
        }
    }

    private func offer(_ message: Message) -> Bool {
        // A failure needs no answer here: the receiving task meets the same one.
        do throws(WebSocketError) { return try connection.offer(message) } catch { return false }
    }

    /// Sends the first messages, and with a schedule all others; stays until the end, and after it until patience is over.
    private func keepSending() async -> End {
        var now = elapsed
        while now < plan.end {
            sendWhatIsDue(at: now)
            if batch.isDue(at: now) { await tell(at: now) }
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
        // Without a schedule the replies send the next messages, unless the first ones were not taken.
        guard let schedule else { return flight.isEmpty ? now + .milliseconds(1) : plan.end }
        // What is overdue already waits for room; the reply that makes it sends it.
        let next = schedule.time(of: max(flight.next, schedule.count(before: now)))
        return min(flight.hasRoom ? next : max(next, now + .milliseconds(1)), plan.end)
    }

    private func sleep(until time: Duration) async -> Bool {
        (try? await Task.sleep(until: start + time, tolerance: .zero, clock: .continuous)) != nil
    }

    private func tell(at now: Duration) async {
        let told = batch
        batch = Tally.Batch(since: now)
        await board.add(told)
    }
}

/// The connections of a benchmark: opened before it, closed after it.
enum Lanes {
    /// Handshakes at the same time.
    private static let handshakes = 32

    /// Opens so many connections, or none: the first failure drops all.
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
                    // What fails after the first is mostly its echo, or cancelled.
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
    /// What a reply turned out to be.
    enum Reply: Hashable, Sendable {
        /// The one that was due, of a message meant to leave at this time.
        case expected(Duration)
        /// One that came out of its turn.
        case disordered
        /// One that nothing waited for.
        case unasked
    }

    /// When each of them was meant to leave; a ring.
    private var times: [Duration]
    /// The number of the oldest.
    private(set) var oldest = 0
    /// The number of the next to be sent.
    private(set) var next = 0

    /// Room for so many messages.
    init(depth: Int) { times = Array(repeating: .zero, count: depth) }

    /// How many were passed over by a reply to a later one, and are still without theirs.
    private(set) var passedOver = 0

    var count: Int { next - oldest }
    var isEmpty: Bool { count == 0 }
    var hasRoom: Bool { count < times.count }

    /// Takes a message that leaves now; there must be room.
    mutating func sent(meantFor time: Duration) {
        times[next % times.count] = time
        next += 1
    }

    /// Takes a reply with this number, of which only the bits in `mask` are known.
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

    /// Takes a reply that is no echo: it answers the oldest message, if any.
    mutating func receivedOther() { oldest = min(oldest + 1, next) }
}

/// When one connection's messages are due at a fixed total rate; those of all connections interleave evenly.
struct Schedule: Hashable, Sendable {
    /// Messages per second of all connections together.
    let rate: Double
    let connections: Int
    /// Which of the connections this is, from 0.
    let place: Int

    /// When a message is due, counted from the start.
    func time(of number: Int) -> Duration {
        .nanoseconds(Int64(Double(number * connections + place) / rate * 1e9))
    }

    /// How many messages are due before a time.
    func count(before time: Duration) -> Int {
        // The estimate may be one off by rounding; `time(of:)` decides.
        let turns = time / .seconds(1) * rate
        var count = max(0, Int((turns - Double(place)) / Double(connections)) - 1)
        while self.time(of: count) < time { count += 1 }
        return count
    }
}

/// Where the batches of all connections meet.
actor Scoreboard {
    private var before = Tally()
    private var recent = Tally()

    func add(_ batch: Tally.Batch) { recent.add(batch) }

    /// What came since the last call, and all errors so far.
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

/// How many files, and so how many connections, this process may have open.
enum OpenFiles {
    /// Besides the connections: event loops, terminal, libraries; what a server keeps free, and those it tells that it is full.
    private static let others = 384

    /// Raises this process's own limit, as far as it may, to hold so many connections; the number that fits.
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

    /// How many connections one address may have of all: as many as it is allowed, but never more than half.
    static func share(ofConnections all: Int, allowed: Int = .max) -> Int { max(min(allowed, all / 2), 1) }
}
