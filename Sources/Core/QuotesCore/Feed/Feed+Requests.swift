/// What the client asks for.
extension Feed {
    /// Does what the client asks for, or refuses it.
    package mutating func receive(_ request: QuotesRequest) {
        switch request {
        case .subscribe(let id, let symbols, let rate): subscribe(id, symbols, rate)
        case .unsubscribe(let id):
            guard let slot = slot(of: id) else {
                return refuse(id, .unknownSubscription, "there is no subscription \(id)")
            }
            remove(slot)
        case .resync(let round): resync(round)
        }
    }

    /// Refuses what could not be decoded; `detail` says why.
    package mutating func receiveMalformed(_ detail: String) { refuse(nil, .badRequest, detail) }

    private mutating func subscribe(_ id: Int64, _ symbols: [String], _ rate: Int64?) {
        guard 0...QuotesLimits.subscriptionID ~= id else { return refuse(nil, .badRequest, "the id \(id) is out of its range") }
        guard !symbols.isEmpty else { return refuse(id, .badRequest, "no symbols") }
        if let rate, !(0...QuotesLimits.rate ~= rate) { return refuse(id, .badRequest, "the rate \(rate) is out of its range") }
        guard symbols.count <= QuotesLimits.patterns else {
            return refuse(id, .tooManyPatterns, "\(symbols.count) patterns, at most \(QuotesLimits.patterns) are allowed")
        }
        let patterns = symbols.compactMap { SymbolPattern($0) }
        guard patterns.count == symbols.count else { return refuse(id, .badPattern, "a pattern that no symbol can match") }
        if let old = slot(of: id) { remove(old) }
        guard order.count < QuotesLimits.subscriptions else {
            return refuse(id, .tooManySubscriptions, "at most \(QuotesLimits.subscriptions) at once are allowed")
        }
        if let rate { pace.set(perSecond: rate) }
        let slot = subscriptions.firstIndex { $0 == nil } ?? subscriptions.count
        if slot == subscriptions.count { subscriptions.append(nil) }
        subscriptions[slot] = Subscription(id: id, patterns: patterns)
        order.append(slot)
        scans.append(Scan(slot: slot))
    }

    private mutating func resync(_ round: Int64) {
        guard round > self.round, round <= QuoteFigures.maximum else {
            return refuse(nil, .badRequest, "the round \(round) does not follow \(self.round)")
        }
        self.round = round
        counts.resyncs += 1
        for symbol in wanted.indices { wanted[symbol] = 0 }
        changes.removeAll()
        pace.clear()
        scans = order.map { Scan(slot: $0) }
    }

    private func slot(of id: Int64) -> Int? { order.first { subscriptions[$0]?.id == id } }

    private mutating func remove(_ slot: Int) {
        subscriptions[slot] = nil
        order.removeAll { $0 == slot }
        scans.removeAll { $0.slot == slot }
        for symbol in wanted.indices { wanted[symbol] &= ~(1 << UInt64(slot)) }
    }

    private mutating func refuse(_ id: Int64?, _ code: QuotesRefusalCode, _ message: String) {
        counts.refused += 1
        guard refusals.count < QuotesLimits.unreadErrors else {
            isAbused = true
            return
        }
        refusals.append(QuotesReply.Refusal(id: id, code: code, message: message))
    }
}
