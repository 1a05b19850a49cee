import MachineCore
import ProtocolCore

/// What the app and the link do.
extension Book {
    mutating func open(at now: Moment, into effects: inout [Effect]) {
        phase = .greeting
        invalidate(into: &effects)
        (expected, round, garbage, placeBySymbol) = (1, 0, 0, [])
        (nextResync, owesResync) = (now, false)
        counts.connections += 1
        for index in subscriptions.indices {
            subscriptions[index].standing = .awaited
            effects.append(.send(request(for: index)))
        }
        expectMore(at: now)
    }

    mutating func unsubscribe(_ id: Int64, at now: Moment, into effects: inout [Effect]) {
        guard let index = subscriptions.firstIndex(where: { $0.id == id }) else { return }
        subscriptions.remove(at: index)
        if isOpen { effects.append(.send(.unsubscribe(id: id))) }
        var gone: [Int] = []
        for place in slots.indices where slots[place].isListed && !isWanted(slots[place].name) {
            slots[place].isListed = false
            gone.append(place)
        }
        if !gone.isEmpty { effects.append(.event(.changed(gone))) }
        if isOpen { settle(at: now) }
    }

    func isWanted(_ name: String) -> Bool { subscriptions.contains { $0.patterns.contains { $0.matches(name) } } }

    /// Something was lost: asks for everything again, though not too often.
    mutating func lose(at now: Moment, into effects: inout [Effect]) {
        invalidate(into: &effects)
        for index in subscriptions.indices where subscriptions[index].standing == .complete { subscriptions[index].standing = .awaited }
        // A server that only loses makes no progress, so further losses buy it no time.
        if phase == .following { expectMore(at: now) }
        owesResync = true
        if now >= nextResync { resync(at: now, into: &effects) }
    }

    mutating func resync(at now: Moment, into effects: inout [Effect]) {
        owesResync = false
        nextResync = now + policy.resyncSpacing
        round += 1
        counts.resyncs += 1
        effects.append(.send(.resync(round: round)))
        settle(at: now)
    }

    mutating func distrust(at now: Moment, into effects: inout [Effect]) {
        counts.garbage += 1
        garbage += 1
        if garbage >= policy.garbageLimit { giveUp(.garbage, into: &effects) } else { lose(at: now, into: &effects) }
    }

    /// Waits for nothing more but a sign of life, if all that was asked for has come.
    mutating func settle(at now: Moment) {
        if phase == .filling, !owesResync, subscriptions.allSatisfy({ $0.standing != .awaited }) {
            (phase, patienceEnds) = (.following, nil)
        }
        if phase == .following, hasBeat != (patienceEnds != nil) { awaitBeat(at: now) }
    }

    /// Gives the server time to say that it lives.
    mutating func awaitBeat(at now: Moment) { patienceEnds = hasBeat ? now + policy.silence : nil }

    /// Whether the server says every now and then that it lives: to those who see something, and not to others.
    var hasBeat: Bool { subscriptions.contains { $0.standing == .complete } }
}
