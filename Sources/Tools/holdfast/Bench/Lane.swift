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
