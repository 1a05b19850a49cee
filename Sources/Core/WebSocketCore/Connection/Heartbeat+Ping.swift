import MachineCore

extension Heartbeat {
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
}

extension UInt32 {
    /// Whether this number was given out before `other`: few are out at once, so this holds even where they wrap.
    fileprivate func precedes(_ other: UInt32) -> Bool { Int32(truncatingIfNeeded: self &- other) < 0 }
}
