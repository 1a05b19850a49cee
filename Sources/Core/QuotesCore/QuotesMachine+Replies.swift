import MachineCore
import ProtocolCore

/// Handling of messages from the server.
extension QuotesMachine {
    mutating func receive(_ reply: QuotesReply, at now: Moment, into effects: inout [Effect]) {
        switch reply {
        case .welcome(let welcome): greet(welcome, at: now, into: &effects)
        case .snapshot(let part):
            guard phase != .greeting, part.round <= round, isSequence(part.sequence) else { return distrust(at: now, into: &effects) }
            guard take(part.sequence, at: now, into: &effects) != .old else { return }
            guard take(part, into: &effects) else { return distrust(at: now, into: &effects) }
            if phase == .filling { expectMore(at: now) }
            if part.isLast, part.round == round, let index = subscriptions.firstIndex(where: { $0.id == part.id }) {
                subscriptions[index].standing = .complete
                settle(at: now)
            }
        case .ticks(let ticks):
            guard phase != .greeting, isSequence(ticks.sequence) else { return distrust(at: now, into: &effects) }
            guard take(ticks.sequence, at: now, into: &effects) == .next else { return }
            guard take(ticks, into: &effects) else { return distrust(at: now, into: &effects) }
        case .refusal(let refusal):
            effects.append(.event(.refused(id: refusal.id, refusal.code, refusal.message)))
            guard let index = subscriptions.firstIndex(where: { $0.id == refusal.id }) else { return }
            subscriptions[index].standing = .refused
            settle(at: now)
        }
    }

    private mutating func greet(_ welcome: QuotesReply.Welcome, at now: Moment, into effects: inout [Effect]) {
        guard welcome.version == QuotesReply.Welcome.currentVersion else { return giveUp(.version(welcome.version), into: &effects) }
        guard welcome.symbols <= QuotesLimits.symbols else { return giveUp(.tooManySymbols(welcome.symbols), into: &effects) }
        guard phase == .greeting, welcome.symbols >= 0 else { return distrust(at: now, into: &effects) }
        if market != welcome.market {
            // Versions start again, so the known ones cannot be compared with new ones.
            let shown = slots.indices.filter { slots[$0].isListed }
            for place in slots.indices { (slots[place].shown.version, slots[place].isListed) = (0, false) }
            if !shown.isEmpty { effects.append(.event(.changed(shown))) }
        }
        (market, symbolCount) = (welcome.market, welcome.symbols)
        phase = .filling
        effects.append(.ready)
        settle(at: now)
    }

    private func isSequence(_ number: Int64) -> Bool { 1...QuoteFigures.maximum ~= number }

    private enum Order { case old, next, afterGap }

    /// Checks the sequence number of a message, and reacts to a gap.
    private mutating func take(_ sequence: Int64, at now: Moment, into effects: inout [Effect]) -> Order {
        guard sequence >= expected else {
            counts.duplicates += 1
            return .old
        }
        let order = sequence == expected ? Order.next : .afterGap
        expected = sequence + 1
        heard = now
        counts.messages += 1
        if phase == .following { awaitBeat(at: now) }
        if order == .afterGap {
            counts.gaps += 1
            lose(at: now, into: &effects)
        }
        return order
    }

    /// Stores complete quotes; returns false if there is garbage among them.
    private mutating func take(_ part: QuotesReply.SnapshotPart, into effects: inout [Effect]) -> Bool {
        let isSubscribed = subscriptions.contains { $0.id == part.id }
        var changed: [Int] = []
        defer { if !changed.isEmpty { effects.append(.event(.changed(changed))) } }
        changed.reserveCapacity(part.quotes.count)
        for quote in part.quotes {
            guard let place = place(for: quote) else { return false }
            counts.quotes += 1
            slots[place].base = quote.state
            slots[place].epoch = epoch
            if isSubscribed { slots[place].isListed = true }
            if quote.state.version > slots[place].shown.version {
                slots[place].shown = quote.state
            } else if quote.state.version < slots[place].shown.version {
                counts.stale += 1
            }
            changed.append(place)
        }
        return true
    }

    /// Returns the place of a symbol, and adds one if necessary; nil if the quote is garbage.
    private mutating func place(for quote: QuotesReply.FullQuote) -> Int? {
        guard quote.symbol < symbolCount, quote.state.isInRange else { return nil }
        let symbol = Int(quote.symbol)
        if symbol < placeBySymbol.count, placeBySymbol[symbol] >= 0 {
            let place = Int(placeBySymbol[symbol])
            return slots[place].name == quote.name ? place : nil
        }
        guard SymbolName.isValid(quote.name) else { return nil }
        if symbol >= placeBySymbol.count {
            placeBySymbol.append(contentsOf: repeatElement(-1, count: symbol + 1 - placeBySymbol.count))
        }
        let place = placeByName[quote.name] ?? slots.count
        if place == slots.count {
            // Limits memory if a server uses other names on each connection.
            guard slots.count < QuotesLimits.symbols else { return nil }
            placeByName[quote.name] = place
            let nothing = QuoteState(version: 0, figures: QuoteFigures())
            slots.append(Slot(name: quote.name, base: nothing, shown: nothing, epoch: 0, isListed: false))
        }
        placeBySymbol[symbol] = Int32(place)
        return place
    }

    /// Applies changes; returns false if there is garbage among them.
    private mutating func take(_ message: QuotesReply.Ticks, into effects: inout [Effect]) -> Bool {
        guard 0...QuoteFigures.maximum ~= message.conflated else { return false }
        counts.conflated &+= UInt64(message.conflated)
        var changed: [Int] = []
        defer { if !changed.isEmpty { effects.append(.event(.changed(changed))) } }
        changed.reserveCapacity(message.ticks.count)
        for tick in message.ticks {
            guard tick.symbol < symbolCount else { return false }
            let place = tick.symbol < placeBySymbol.count ? Int(placeBySymbol[Int(tick.symbol)]) : -1
            guard place >= 0 else {
                // The quote that introduced the symbol may have been lost, unless nothing was lost since.
                if phase == .following { return false }
                continue
            }
            guard slots[place].epoch == epoch else { continue }
            let state = QuoteState(version: tick.version, figures: slots[place].base.figures.adding(tick.differences))
            guard state.isInRange else { return false }
            counts.ticks += 1
            slots[place].base = state
            if state.version > slots[place].shown.version {
                slots[place].shown = state
                changed.append(place)
            } else {
                counts.stale += 1
            }
        }
        return true
    }
}
