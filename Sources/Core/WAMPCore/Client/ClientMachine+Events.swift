internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    /// An event; one of a subscription that nobody knows was under way when that ended.
    mutating func event(_ subscription: WAMPID, _ event: PastEvent, into effects: inout [ClientEffect]) {
        guard let audience = topics.audiences[subscription], !audience.listeners.isEmpty else { return }
        guard audience.isPlain else { return sort(event, of: subscription, topic: audience.topic, into: &effects) }
        effects.append(.event(event.news(for: audience.listeners, of: subscription)))
    }

    /// Tells an event to those whom it concerns: the retained one to who asked for it, none twice, and none before the past that it follows.
    private mutating func sort(_ event: PastEvent, of subscription: WAMPID, topic number: Int, into effects: inout [ClientEffect]) {
        guard let reception = topics.reception(of: number) else { return }
        let isRetained = !reception.hungry.isEmpty && event.details["retained"] == true
        let listeners = isRetained ? reception.hungry : reception.listeners
        // An exact topic has one retained event, a pattern many.
        if isRetained, reception.isExact { topics.update(number) { $0.hungry = [] } }
        if reception.keepsPublications {
            let isNew = topics.remember(event.publication, of: number)
            guard isNew || isRetained else { return }
        }
        guard let curious = reception.curious else {
            return effects.append(.event(event.news(for: listeners, of: subscription)))
        }
        let others = listeners.filter { !curious.contains($0) }
        if !others.isEmpty { effects.append(.event(event.news(for: others, of: subscription))) }
        if others.count < listeners.count, topics.hold(event, of: number) > HistoryFetch.capacity {
            finishHistory(topic: number, nil, into: &effects)
        }
    }

    // MARK: History

    /// Tells of a gap, or asks the router first for what was missed.
    ///
    /// One that keeps no history answers with an error.
    mutating func tell(_ gap: ClientGap, to listeners: [ClientHandle], of number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        guard gap == .reconnected, let topic = topics[number], let subscription = topic.subscription else {
            return effects.append(.event(.gap(listeners, gap)))
        }
        let curious = listeners.filter { (topics.listeners[$0]?.historyLength ?? 0) > 0 }
        let others = listeners.filter { !curious.contains($0) }
        if !others.isEmpty { effects.append(.event(.gap(others, gap))) }
        guard !curious.isEmpty else { return }
        let id = self.number(.history(topic: number), due: now + policy.answerPatience)
        topics.update(number) { $0.history = HistoryFetch(request: id, listeners: curious) }
        var options: ValueMap = ["limit": .integer(Int64(topic.historyLength))]
        // Crossbar, which does not announce its history, has the newest first always, and refuses what it does not know.
        if router.broker.contains("event_history") { options["reverse"] = true }
        effects.append(
            .send(
                .call(
                    request: id, options: ValueMap(), procedure: "wamp.subscription.get_events",
                    WAMPArguments([Value(subscription)], keywords: options))))
    }

    /// Tells what came from the history, or that nothing did, and then what waited for it.
    mutating func finishHistory(topic number: Int, _ events: [PastEvent]?, into effects: inout [ClientEffect]) {
        guard let topic = topics[number], let history = topic.history else { return }
        _ = requests.end(history.request)
        topics.update(number) { $0.history = nil }
        guard let subscription = topic.subscription, !history.listeners.isEmpty else { return }
        // What came since the subscription stands is the end of the history too; the retained event is not, it may be old.
        let live = Set(history.held.lazy.filter { $0.details["retained"] != true }.map(\.publication))
        let missed = topic.missed(of: events ?? []).filter { !live.contains($0.publication) && !topics.own.contains($0.publication) }
        let known = Set(missed.map(\.publication))
        effects.append(.event(.gap(history.listeners, events == nil ? .reconnected : .filled(events: missed.count))))
        for event in missed + history.held.filter({ !known.contains($0.publication) }) {
            _ = topics.remember(event.publication, of: number)
            effects.append(.event(event.news(for: history.listeners, of: subscription)))
        }
    }
}

extension Topic {
    /// What of these was missed: all after the last one that came; of a topic of which nothing came yet, all.
    fileprivate func missed(of events: [PastEvent]) -> [PastEvent] {
        let known = events.lastIndex { seen.contains($0.publication) }
        return Array(known.map { events[($0 + 1)...] } ?? events[...])
    }
}

extension PastEvent {
    func news(for listeners: [ClientHandle], of subscription: WAMPID) -> ClientNews {
        .event(listeners, subscription: subscription, publication: publication, details: details, arguments)
    }
}
