internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    /// Handles an event; an event of an unknown subscription was in flight when that ended.
    mutating func event(_ subscription: WAMPID, _ event: PastEvent, into effects: inout [ClientEffect]) {
        guard let audience = topics.audiences[subscription], !audience.listeners.isEmpty else { return }
        guard audience.isPlain else { return sort(event, of: subscription, topic: audience.topic, into: &effects) }
        effects.append(.event(event.news(for: audience.listeners, of: subscription)))
    }

    /// Delivers an event to the right listeners.
    ///
    /// The retained event goes only to listeners that asked for it. No event is delivered twice, and none before the history that it
    /// follows.
    private mutating func sort(_ event: PastEvent, of subscription: WAMPID, topic number: Int, into effects: inout [ClientEffect]) {
        guard let reception = topics.reception(of: number) else { return }
        let isRetained = !reception.awaitingRetained.isEmpty && event.details["retained"] == true
        let listeners = isRetained ? reception.awaitingRetained : reception.listeners
        // An exact topic has one retained event; a pattern may have many.
        if isRetained, reception.isExact { topics.update(number) { $0.awaitingRetained = [] } }
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

    /// Reports a gap, or first asks the router for the missed events.
    ///
    /// A router without history answers with an error.
    mutating func notify(_ gap: ClientGap, to listeners: [ClientHandle], of number: Int, at now: Moment, into effects: inout [ClientEffect])
    {
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
        // Crossbar does not announce its history. It always returns the newest first, and refuses unknown options.
        if router.broker.contains("event_history") { options["reverse"] = true }
        effects.append(
            .send(
                .call(
                    request: id, options: ValueMap(), procedure: "wamp.subscription.get_events",
                    WAMPArguments([Value(subscription)], keywords: options))))
    }

    /// Delivers the events of the history, or reports that there are none, and then delivers the events that waited.
    mutating func finishHistory(topic number: Int, _ events: [PastEvent]?, into effects: inout [ClientEffect]) {
        guard let topic = topics[number], let history = topic.history else { return }
        _ = requests.end(history.request)
        topics.update(number) { $0.history = nil }
        guard let subscription = topic.subscription, !history.listeners.isEmpty else { return }
        // Events since the subscription exists are the end of the history, too. The retained event is not, because it may be old.
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

extension TopicState {
    /// Returns the missed events: all after the last one that came, or all if none has come yet.
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
