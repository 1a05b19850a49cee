package import MachineCore

/// Detects dead connections with pings and pongs (RFC 6455 §5.5.2, §5.5.3).
///
/// There are two kinds of ping. An automatic ping is sent after `interval` without a byte from the peer, and any byte answers it: the
/// connection is dead only if the peer stays silent. A ping from the app measures the round trip and only its pong answers it: for every
/// id, ``Effect/roundTrip(id:_:)`` or ``Effect/expired(_:)`` is emitted exactly once.
///
/// A probe is an automatic ping that is sent without waiting for silence, when there is a reason to doubt the link.
///
/// While the owner has paused reading because its own consumer is slow, silence does not count against the peer.
package struct Heartbeat: Machine, Hashable {
    /// An event that affects the heartbeat.
    package enum Input: Hashable, Sendable {
        /// The app requests a round-trip measurement, and waits this long after the ping was sent.
        case pingRequested(id: UInt64, patience: Duration)
        /// The ping with this payload was passed to the socket. Its time limit starts now, not when it was queued.
        case written([UInt8])
        /// A pong arrived.
        case pong([UInt8])
        /// The message that was sent instead of an automatic ping was answered, with something other than a pong.
        case answered
        /// The automatic ping cannot be sent now. It is requested again after another interval at the earliest.
        case postponed
        /// Bytes arrived, or the socket accepted bytes again. Cheap: call it once per read burst.
        case activity
        /// There is a reason to doubt the link, such as a lost path: send a ping now, unless an automatic ping is already pending.
        ///
        /// As with any automatic ping, any byte received after it was sent answers it, and silence for `patience` after it was sent means
        /// that the connection is dead. If reading stops before an answer, the ping is sent again when reading continues. No `interval` is
        /// required.
        case probe
        /// From now on, silence of this length causes an automatic ping; nil for none. The present silence counts from its start.
        case setInterval(Duration?)
        /// The owner stopped reading because its consumer is slow.
        case paused
        /// The owner reads again.
        case resumed
        /// The connection is over.
        case ended
    }
    /// An order to the owner, or a result.
    package enum Effect: Hashable, Sendable {
        /// Write a ping with this payload ahead of queued data, and report ``Input/written(_:)``.
        case sendPing([UInt8])
        /// A ping was answered after this long; the id is nil for an automatic ping.
        case roundTrip(id: UInt64?, Duration)
        /// A ping from the app was not answered in time, or can no longer be answered.
        case expired(UInt64)
        /// The peer was silent for `patience` after an automatic ping: fail the connection.
        case dead
    }

    /// The maximum number of pending pings.
    ///
    /// Another ping from the app beyond that expires at once.
    package static let capacity = 64

    var interval: Duration?
    let patience, stall: Duration
    let seed: UInt32
    var lastNumber: UInt32 = 0
    var lastActivity: Moment
    var isPaused = false
    var isEnded = false
    /// The pings without a pong, oldest first: those of the app, and the newest automatic one.
    var pings: [Ping] = []

    /// Creates the heartbeat of a connection that has just opened.
    ///
    /// - Parameters:
    ///   - interval: The silence of the peer that causes an automatic ping; nil for no automatic pings.
    ///   - patience: How long the peer may stay silent after an automatic ping was sent.
    ///   - stall: How long a ping may wait for the socket to accept it while no other bytes move.
    ///   - seed: Four random bytes for the payloads, so that a pong of another connection is not mistaken for ours.
    ///   - now: When the connection opened.
    package init(
        interval: Duration? = .seconds(20), patience: Duration = .seconds(10), stall: Duration = .seconds(60),
        seed: UInt32, openedAt now: Moment = .start
    ) {
        (self.interval, self.patience, self.stall, self.seed, lastActivity) = (interval, patience, stall, seed, now)
    }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .pingRequested(let id, _) where isEnded || pings.count >= Self.capacity: effects.append(.expired(id))
        case .pingRequested(let id, let patience): send(id, patience, at: now, into: &effects)
        case .written(let payload): noteWritten(payload, at: now)
        case .pong(let payload): noteAnswered(payload, at: now, into: &effects)
        case .answered: noteAnswered(at: now, into: &effects)
        case .postponed: postpone(at: now)
        case .activity: lastActivity = now
        case .probe: probe(at: now, into: &effects)
        case .setInterval(let interval): self.interval = interval
        case .paused: isPaused = true
        case .resumed: if isPaused { resume(at: now, into: &effects) }
        case .ended: end(into: &effects)
        }
    }

    /// A ping without a pong so far.
    struct Ping: Hashable {
        let number: UInt32
        /// The app's id of the ping; nil for an automatic ping.
        let id: UInt64?
        let patience: Duration
        let queuedAt: Moment
        /// Whether it was sent as a probe, regardless of the interval.
        var isProbe = false
        /// When it was passed to the socket; nil while it waits.
        var writtenAt: Moment?
    }

    mutating func send(_ id: UInt64?, _ patience: Duration, at now: Moment, into effects: inout [Effect]) {
        lastNumber &+= 1
        pings.append(Ping(number: lastNumber, id: id, patience: patience, queuedAt: now))
        effects.append(.sendPing(payload(lastNumber)))
    }

    /// Replaces the last automatic ping by a new one.
    ///
    /// The pong of the old one no longer matters, because other bytes arrived.
    mutating func sendAutomatic(isProbe: Bool, at now: Moment, into effects: inout [Effect]) {
        pings.removeAll { $0.id == nil }
        send(nil, patience, at: now, into: &effects)
        pings[pings.count - 1].isProbe = isProbe
    }

    mutating func probe(at now: Moment, into effects: inout [Effect]) {
        guard !isEnded else { return }
        guard let index = pings.firstIndex(where: isAsking) else { return sendAutomatic(isProbe: true, at: now, into: &effects) }
        pings[index].isProbe = true
    }

    mutating func resume(at now: Moment, into effects: inout [Effect]) {
        let asksAgain = pings.contains { $0.isProbe && $0.writtenAt != nil && isAsking($0) }
        isPaused = false
        lastActivity = now  // Data may wait in the socket: we caused the silence, so it does not count against pings already sent.
        if asksAgain { sendAutomatic(isProbe: true, at: now, into: &effects) }
    }

    mutating func noteWritten(_ payload: [UInt8], at now: Moment) {
        guard let number = number(in: payload), let index = pings.firstIndex(where: { $0.number == number }) else { return }
        pings[index].writtenAt = pings[index].writtenAt ?? now
    }

    /// A pong answers its ping and all earlier ones (RFC 6455 §5.5.3).
    ///
    /// A pong that matches no ping is ignored.
    mutating func noteAnswered(_ payload: [UInt8], at now: Moment, into effects: inout [Effect]) {
        lastActivity = now
        guard let number = number(in: payload), !lastNumber.precedes(number) else { return }
        let answered = pings.prefix { !number.precedes($0.number) }
        // A pong can arrive before the report that its ping was written.
        for ping in answered { effects.append(.roundTrip(id: ping.id, now - (ping.writtenAt ?? ping.queuedAt))) }
        pings.removeFirst(answered.count)
    }

    /// Treats an answer that names no ping as the answer to the automatic one.
    mutating func noteAnswered(at now: Moment, into effects: inout [Effect]) {
        lastActivity = now
        guard let index = pings.firstIndex(where: { $0.id == nil }) else { return }
        let ping = pings.remove(at: index)
        effects.append(.roundTrip(id: nil, now - (ping.writtenAt ?? ping.queuedAt)))
    }

    /// Treats the ping as answered: a ping that could not be sent does not count against the peer.
    mutating func postpone(at now: Moment) {
        pings.removeAll { $0.id == nil }
        lastActivity = now
    }

    /// Returns whether the ping with this payload is automatic and still unanswered.
    package func isAutomatic(_ payload: [UInt8]) -> Bool {
        guard let number = number(in: payload) else { return false }
        return pings.contains { $0.number == number && $0.id == nil }
    }

    mutating func end(into effects: inout [Effect]) {
        for ping in pings { if let id = ping.id { effects.append(.expired(id)) } }
        pings.removeAll()
        isEnded = true
    }

    /// Returns the payload: the seed and the number, both in network order.
    private func payload(_ number: UInt32) -> [UInt8] {
        [seed, number].flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
    }

    /// Returns the number in a payload of this heartbeat; nil if the payload is not ours.
    private func number(in payload: [UInt8]) -> UInt32? {
        guard payload.count == 8 else { return nil }
        let word = payload.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return word >> 32 == UInt64(seed) ? UInt32(truncatingIfNeeded: word) : nil
    }

    /// The moment at which the next ping is due, expires, or proves the peer dead; nil if none can.
    package var deadline: Moment? {
        var earliest = pingDue
        for ping in pings {
            guard let due = due(ping), due < earliest ?? .distantFuture else { continue }
            earliest = due
        }
        return earliest
    }

    /// Sends the ping that is due, expires pings that waited too long, and reports a dead peer.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        let overdue = pings.filter { ping in due(ping).map { now >= $0 } ?? false }
        if overdue.contains(where: { $0.id == nil }) {
            effects.append(.dead)
            return end(into: &effects)
        }
        for ping in overdue { if let id = ping.id { effects.append(.expired(id)) } }
        pings.removeAll(where: overdue.contains)
        guard let pingDue, now >= pingDue else { return }
        sendAutomatic(isProbe: false, at: now, into: &effects)
    }

    /// Whether an automatic ping was sent and nothing has been received since.
    package var meetsSilence: Bool { pings.contains { $0.writtenAt != nil && isAsking($0) } }

    /// When silence causes the next automatic ping; nil while one is pending without any byte received since.
    private var pingDue: Moment? {
        guard let interval, !isPaused, !isEnded, !pings.contains(where: isAsking) else { return nil }
        return lastActivity + interval
    }

    /// Returns when a ping has waited too long; nil if it may wait without limit.
    private func due(_ ping: Ping) -> Moment? {
        switch (ping.id, ping.writtenAt) {
        case (.some, let written?): written + ping.patience
        case (.some, nil): ping.queuedAt + stall
        case (nil, _) where isPaused || !isAsking(ping): nil
        case (nil, let written?): written + ping.patience
        case (nil, nil): max(ping.queuedAt, lastActivity) + stall
        }
    }

    /// Returns whether this is an automatic ping without any byte received since it was sent.
    ///
    /// Any byte is an answer.
    func isAsking(_ ping: Ping) -> Bool { ping.id == nil && ping.writtenAt.map { lastActivity <= $0 } ?? true }
}

extension UInt32 {
    /// Returns whether this number was issued before `other`.
    ///
    /// Correct across wrap-around, because few numbers are in use at once.
    fileprivate func precedes(_ other: UInt32) -> Bool { Int32(truncatingIfNeeded: self &- other) < 0 }
}

/// Counts outstanding answers where messages are sent instead of pings.
///
/// Answers do not name the message they answer, so they are assumed to come in order.
package struct PingQuestions: Hashable, Sendable {
    private var asked: [Moment] = []

    /// Creates a counter without outstanding answers.
    package init() {}

    /// Whether no answer is expected.
    package var isEmpty: Bool { asked.isEmpty }

    /// Records that a message was sent.
    ///
    /// Messages older than `patience` no longer expect an answer.
    package mutating func ask(at now: Moment, patience: Duration) {
        asked.removeAll { now - $0 > patience }
        asked.append(now)
    }

    /// Records that an answer arrived; returns whether it answers the newest message.
    package mutating func answer() -> Bool {
        guard !asked.isEmpty else { return false }
        asked.removeFirst()
        return asked.isEmpty
    }
}

/// Postpones an alarm that rings late because its event loop was busy.
///
/// The peer's answer may be unread in the socket by then. The alarm is therefore postponed once, so that the loop can read before the peer
/// is declared dead.
package struct LateAlarm: Hashable, Sendable {
    /// How late an alarm may ring without being postponed.
    package static let tolerance = Duration.milliseconds(500)
    /// For how long it is postponed: a loop reads before it checks its alarms again.
    package static let respite = Duration.milliseconds(20)

    private var isPutOff = false

    /// Creates the state in which no alarm has been postponed.
    package init() {}

    /// Handles a ringing alarm: returns when it is to ring again, or nil if it is not postponed.
    package mutating func rings(due: Moment?, at now: Moment) -> Moment? {
        isPutOff = due.map { now - $0 > Self.tolerance } ?? false && !isPutOff
        return isPutOff ? now + Self.respite : nil
    }
}
