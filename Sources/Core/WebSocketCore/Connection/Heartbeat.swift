public import MachineCore

/// Tells a live connection from a dead one by pings and pongs (RFC 6455 §5.5.2, §5.5.3).
///
/// Two kinds of ping share the wire. The automatic one goes out after `interval` without a byte from the peer,
/// and any byte answers it: only silence is death. An app's ping asks for the round trip and takes nothing but its pong
/// for an answer: every id is told ``Effect/roundTrip(id:_:)`` or ``Effect/expired(_:)``, exactly once.
///
/// A probe is an automatic ping that waits for no silence: for when there is a reason to doubt the link.
///
/// While the owner reads nothing because its own consumer is slow, no silence is held against the peer.
public struct Heartbeat: Machine, Hashable {
    /// What can happen to a connection that tells of its life.
    public enum Input: Hashable, Sendable {
        /// The app wants to know the round trip, and waits this long from the time the ping leaves.
        case pingRequested(id: UInt64, patience: Duration)
        /// The ping with this payload left for the socket: its time runs from here, not from when it was queued.
        case written([UInt8])
        /// A pong arrived.
        case pong([UInt8])
        /// What was sent in place of an automatic ping was answered with something else than a pong.
        case answered
        /// The automatic ping cannot be sent for now. It is not asked for again before another interval has passed.
        case postponed
        /// Bytes arrived, or the socket took bytes it could not take before. Cheap: call it once per read burst.
        case activity
        /// There is a reason to doubt the link, such as a lost path: ask now, unless an automatic ping is out already.
        ///
        /// As with any automatic ping, any byte after it left answers it, and silence for `patience` after it left is death.
        /// If reading stops before an answer, it is asked anew when reading goes on. It needs no `interval`.
        case probe
        /// Silence of this length calls for an automatic ping from now on; nil for none. The present silence counts from its start.
        case setInterval(Duration?)
        /// The owner stopped reading, for its consumer is slow.
        case paused
        /// The owner reads again.
        case resumed
        /// The connection is over.
        case ended
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Write a ping with this payload ahead of any queued data, and report ``Input/written(_:)``.
        case sendPing([UInt8])
        /// A ping came back after this long; the id is nil for an automatic one.
        case roundTrip(id: UInt64?, Duration)
        /// An app's ping got no answer in time, or can get none any more.
        case expired(UInt64)
        /// The peer was silent for `patience` after an automatic ping: fail the connection.
        case dead
    }

    /// How many of the app's pings may be on their way; one more expires at once.
    public static let capacity = 64

    var interval: Duration?
    let patience, stall: Duration
    let seed: UInt32
    var lastNumber: UInt32 = 0
    var lastActivity: Moment
    var isPaused = false
    var isEnded = false
    /// The pings without a pong, oldest first: the app's, and the newest automatic one.
    var pings: [Ping] = []

    /// The heartbeat of a connection that has just opened.
    ///
    /// - Parameters:
    ///   - interval: Silence from the peer that calls for an automatic ping; nil for none ever.
    ///   - patience: How long the peer may stay silent after an automatic ping has left.
    ///   - stall: How long a ping may wait for the socket to take it while no other byte moves.
    ///   - seed: Four random bytes for the payloads, so that no pong of another connection is taken for ours.
    ///   - now: When the connection opened.
    public init(
        interval: Duration? = .seconds(20), patience: Duration = .seconds(10), stall: Duration = .seconds(60),
        seed: UInt32, openedAt now: Moment = .start
    ) {
        (self.interval, self.patience, self.stall, self.seed, lastActivity) = (interval, patience, stall, seed, now)
    }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// A ping whose pong has not come.
    struct Ping: Hashable {
        let number: UInt32
        /// Who asked; nil for an automatic ping.
        let id: UInt64?
        let patience: Duration
        let queuedAt: Moment
        /// Whether somebody waits for it to tell life from death, whatever the interval.
        var isProbe = false
        /// When it left for the socket; nil while it waits.
        var writtenAt: Moment?
    }

    mutating func send(_ id: UInt64?, _ patience: Duration, at now: Moment, into effects: inout [Effect]) {
        lastNumber &+= 1
        pings.append(Ping(number: lastNumber, id: id, patience: patience, queuedAt: now))
        effects.append(.sendPing(payload(lastNumber)))
    }

    /// An automatic ping in place of the last one: life came some other way, so that one's pong no longer matters.
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
        lastActivity = now  // What waited in the socket is about to be read: the silence was ours, and judges no ping that left.
        if asksAgain { sendAutomatic(isProbe: true, at: now, into: &effects) }
    }

    mutating func noteWritten(_ payload: [UInt8], at now: Moment) {
        guard let number = number(in: payload), let index = pings.firstIndex(where: { $0.number == number }) else { return }
        pings[index].writtenAt = pings[index].writtenAt ?? now
    }

    /// A pong answers its ping and all before it (RFC 6455 §5.5.3); one that answers none is ignored.
    mutating func noteAnswered(_ payload: [UInt8], at now: Moment, into effects: inout [Effect]) {
        lastActivity = now
        guard let number = number(in: payload), !lastNumber.precedes(number) else { return }
        let answered = pings.prefix { !number.precedes($0.number) }
        // A pong can outrun the news that its ping was written.
        for ping in answered { effects.append(.roundTrip(id: ping.id, now - (ping.writtenAt ?? ping.queuedAt))) }
        pings.removeFirst(answered.count)
    }

    /// An answer that names no ping is that of the automatic one.
    mutating func noteAnswered(at now: Moment, into effects: inout [Effect]) {
        lastActivity = now
        guard let index = pings.firstIndex(where: { $0.id == nil }) else { return }
        let ping = pings.remove(at: index)
        effects.append(.roundTrip(id: nil, now - (ping.writtenAt ?? ping.queuedAt)))
    }

    /// As if it had been answered: what cannot be asked is held against nobody.
    mutating func postpone(at now: Moment) {
        pings.removeAll { $0.id == nil }
        lastActivity = now
    }

    /// Whether the ping with this payload is one that nobody asked for, still without an answer.
    public func isAutomatic(_ payload: [UInt8]) -> Bool {
        guard let number = number(in: payload) else { return false }
        return pings.contains { $0.number == number && $0.id == nil }
    }

    mutating func end(into effects: inout [Effect]) {
        for ping in pings { if let id = ping.id { effects.append(.expired(id)) } }
        pings.removeAll()
        isEnded = true
    }

    /// The seed and the number, both in network order.
    private func payload(_ number: UInt32) -> [UInt8] {
        [seed, number].flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
    }

    /// The number in a payload of ours; nil if someone else made it.
    private func number(in payload: [UInt8]) -> UInt32? {
        guard payload.count == 8 else { return nil }
        let word = payload.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return word >> 32 == UInt64(seed) ? UInt32(truncatingIfNeeded: word) : nil
    }

    /// When the next ping is due, expires, or has met silence for too long; nil if none can.
    public var deadline: Moment? {
        var earliest = pingDue
        for ping in pings {
            guard let due = due(ping), due < earliest ?? .distantFuture else { continue }
            earliest = due
        }
        return earliest
    }

    /// Sends the ping that is due, expires what has waited too long, and tells death.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
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

    /// Whether an automatic ping has left and has met nothing but silence.
    public var meetsSilence: Bool { pings.contains { $0.writtenAt != nil && isAsking($0) } }

    /// When silence calls for an automatic ping; nil while one is out that has met nothing else.
    private var pingDue: Moment? {
        guard let interval, !isPaused, !isEnded, !pings.contains(where: isAsking) else { return nil }
        return lastActivity + interval
    }

    /// When a ping has waited long enough; nil if it may wait for ever.
    private func due(_ ping: Ping) -> Moment? {
        switch (ping.id, ping.writtenAt) {
        case (.some, let written?): written + ping.patience
        case (.some, nil): ping.queuedAt + stall
        case (nil, _) where isPaused || !isAsking(ping): nil
        case (nil, let written?): written + ping.patience
        case (nil, nil): max(ping.queuedAt, lastActivity) + stall
        }
    }

    /// Whether this is an automatic ping that has met only silence: any byte since it left is an answer.
    func isAsking(_ ping: Ping) -> Bool { ping.id == nil && ping.writtenAt.map { lastActivity <= $0 } ?? true }
}

extension UInt32 {
    /// Whether this number was given out before `other`: few are out at once, so this holds even where they wrap.
    fileprivate func precedes(_ other: UInt32) -> Bool { Int32(truncatingIfNeeded: self &- other) < 0 }
}

/// Keeps count of the answers that are still to come, where a message asks in place of a ping.
///
/// Answers name no question, so they are taken to come in order.
public struct PingQuestions: Hashable, Sendable {
    private var asked: [Moment] = []

    /// No question was asked.
    public init() {}

    /// Whether no answer is expected.
    public var isEmpty: Bool { asked.isEmpty }

    /// A question leaves; those that are older than `patience` have no answer any more.
    public mutating func ask(at now: Moment, patience: Duration) {
        asked.removeAll { now - $0 > patience }
        asked.append(now)
    }

    /// An answer arrived; returns whether it is that of the newest question.
    public mutating func answer() -> Bool {
        guard !asked.isEmpty else { return false }
        asked.removeFirst()
        return asked.isEmpty
    }
}

/// What to do with an alarm that rings late, because its event loop was busy.
///
/// The peer's answer may lie unread in the socket by then. So the alarm is put off once, for a turn of reading, before anybody takes
/// silence for death.
public struct LateAlarm: Hashable, Sendable {
    /// How late an alarm may ring without being late.
    public static let tolerance = Duration.milliseconds(500)
    /// For how long one is put off: a loop reads before it looks at its alarms again.
    public static let respite = Duration.milliseconds(20)

    private var isPutOff = false

    /// Nothing was late yet.
    public init() {}

    /// An alarm rings: when it is to ring again, if it is put off.
    public mutating func rings(due: Moment?, at now: Moment) -> Moment? {
        isPutOff = due.map { now - $0 > Self.tolerance } ?? false && !isPutOff
        return isPutOff ? now + Self.respite : nil
    }
}
