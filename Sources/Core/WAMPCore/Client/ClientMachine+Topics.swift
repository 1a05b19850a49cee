internal import CodecCore
internal import MachineCore
internal import ProtocolCore

extension ClientMachine {
    mutating func subscribe(
        _ handle: ClientHandle, _ key: TopicKey, _ options: SubscribeOptions, patience: Duration?, at now: Moment,
        into effects: inout [ClientEffect]
    ) {
        if let failure = refusal(of: key.uri, match: key.match, mayWait: patience != nil) {
            return effects.append(.event(.failed(handle, failure)))
        }
        let number = topics.topic(key, options: options)
        topics.add(handle, TopicListener(topic: number, options: options, waitsUntil: patience.map { now + $0 }))
        if let topic = topics[number], let subscription = topic.subscription {
            topics.markSubscribed(handle)
            effects.append(.event(.subscribed(handle, subscription: subscription)))
        } else {
            let isAsked = topics[number]?.flight == .subscribe
            alarms.set(.listener(handle), at: now + (isAsked ? policy.answerPatience : patience ?? policy.answerPatience))
        }
        settle(topic: number, at: now, into: &effects)
        // The overdue answer will not come, and no other request about the topic is possible before it does.
        if let topic = topics[number], let flight = topic.flight, topics.waiting.contains(handle),
            now - topic.askedAt >= policy.answerPatience
        {
            drop(.violation("\(flight == .subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE") was not answered in time"), at: now, into: &effects)
        }
    }

    mutating func unsubscribe(_ handle: ClientHandle, at now: Moment, into effects: inout [ClientEffect]) {
        alarms.cancel(.listener(handle))
        guard let listener = topics.remove(handle) else { return }
        settle(topic: listener.topic, at: now, into: &effects)
    }

    mutating func endSubscription(_ handle: ClientHandle, at now: Moment, into effects: inout [ClientEffect]) {
        guard let number = topics.listeners[handle]?.topic else { return }
        unsubscribe(handle, at: now, into: &effects)
        topics.unsubscribing[number, default: []].append(handle)
        alarms.set(.listener(handle), at: now + policy.answerPatience)
        notifyUnsubscribing(of: number, into: &effects)
    }

    /// Notifies listeners that have left a topic, unless the answer to UNSUBSCRIBE is pending.
    mutating func notifyUnsubscribing(of number: Int, into effects: inout [ClientEffect]) {
        guard let unsubscribing = topics.unsubscribing[number] else { return }
        if let topic = topics[number], topic.flight != nil, topic.flight == .unsubscribe || topic.listeners.isEmpty { return }
        topics.unsubscribing[number] = nil
        for handle in unsubscribing {
            alarms.cancel(.listener(handle))
            effects.append(.event(.unsubscribed(handle)))
        }
    }

    /// Takes the next step towards the state that the listeners want: subscribed if there are any, and otherwise unsubscribed.
    ///
    /// For listeners that want the retained event of an existing subscription, it sends another SUBSCRIBE; only they get that event.
    mutating func settle(topic number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        guard let topic = topics[number], topic.flight == nil else { return }
        guard !topic.listeners.isEmpty else {
            if phase == .joined, let subscription = topic.subscription {
                topics.update(number) { ($0.flight, $0.askedAt, $0.subscription) = (.unsubscribe, now, nil) }
                let id = self.number(.unsubscribe(topic: number))
                effects.append(.send(.unsubscribe(request: id, subscription: subscription)))
            } else {
                topics.removeTopic(number)
            }
            alarms.cancel(.topic(number))
            return
        }
        guard phase == .joined, !topic.isPausing, topic.subscription == nil || !topic.unserved.isEmpty else { return }
        let name = "pattern_based_subscription"
        if let feature = router.lacking(match: topic.key.match, among: router.broker, named: name) {
            return end(topic: number, .unsupported(feature), at: now, into: &effects)
        }
        var options = topic.other
        if topic.key.match != .exact { options["match"] = .text(topic.key.match.rawValue) }
        if !topic.unserved.isEmpty { options["get_retained"] = true }
        let id = self.number(.subscribe(topic: number))
        topics.update(number) { ($0.flight, $0.askedAt, $0.awaitingRetained, $0.unserved) = (.subscribe, now, $0.unserved, []) }
        for handle in topic.listeners {
            if topics.waiting.contains(handle) {
                alarms.set(.listener(handle), at: now + policy.answerPatience)
            } else {
                alarms.set(.topic(number), at: now + policy.answerPatience)
            }
        }
        effects.append(.send(.subscribe(request: id, options: options, topic: topic.key.uri)))
    }

    // MARK: Answers

    mutating func subscribed(_ request: WAMPID, subscription: WAMPID, at now: Moment, into effects: inout [ClientEffect]) {
        guard case .subscribe(let number)? = answered(.subscribe, request, at: now, into: &effects)?.request else { return }
        if let other = topics.audiences[subscription]?.topic, other != number {
            return violate("SUBSCRIBED gives one subscription to two topics", at: now, into: &effects)
        }
        let before = topics[number]
        alarms.cancel(.topic(number))
        topics.update(number) {
            if $0.subscription == nil { $0.standsSince = now }
            ($0.flight, $0.subscription, $0.gap) = (nil, subscription, nil)
            // The retained event was requested already and follows this answer.
            if !$0.awaitingRetained.isEmpty { ($0.awaitingRetained, $0.unserved) = ($0.awaitingRetained + $0.unserved, []) }
        }
        if let before, before.subscription != subscription {
            let old = before.listeners.filter { !topics.waiting.contains($0) }
            for handle in before.listeners {
                alarms.cancel(.listener(handle))
                topics.markSubscribed(handle)
                effects.append(.event(.subscribed(handle, subscription: subscription)))
            }
            if let gap = before.gap, !old.isEmpty { notify(gap, to: old, of: number, at: now, into: &effects) }
        }
        settle(topic: number, at: now, into: &effects)
        notifyUnsubscribing(of: number, into: &effects)
    }

    mutating func refuse(topic number: Int, _ refusal: RequestRefusal, at now: Moment, into effects: inout [ClientEffect]) {
        defer { notifyUnsubscribing(of: number, into: &effects) }
        alarms.cancel(.topic(number))
        topics.update(number) {
            ($0.flight, $0.awaitingRetained, $0.unserved) = (
                nil, [], $0.subscription == nil ? $0.awaitingRetained + $0.unserved : $0.unserved
            )
        }
        guard let topic = topics[number], topic.subscription == nil else {
            // Only the request for the retained event failed.
            return settle(topic: number, at: now, into: &effects)
        }
        let newcomers = topic.listeners.filter { topics.waiting.contains($0) }
        if WAMPURI.isPassing(refusal.uri), newcomers.count < topic.listeners.count, topic.tries < Self.mostTries {
            for handle in newcomers { end(listener: handle, refusal.failure, into: &effects) }
            pauseTopic(number, at: now)
        } else {
            end(topic: number, refusal.failure, at: now, into: &effects)
        }
    }

    mutating func unsubscribed(topic number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        topics.update(number) { $0.flight = nil }
        notifyUnsubscribing(of: number, into: &effects)
        settle(topic: number, at: now, into: &effects)
    }

    /// Handles a subscription that the router revoked; the client subscribes again, up to a limited number of tries.
    ///
    /// Source: WAMP, "Subscription Revocation".
    mutating func revokeSubscription(_ details: ValueMap, at now: Moment, into effects: inout [ClientEffect]) {
        guard let id = details["subscription"]?.int.flatMap(WAMPID.init(exactly:)), let number = topics.audiences[id]?.topic else { return }
        let reason = details["reason"]?.string
        finishHistory(topic: number, nil, into: &effects)
        topics.update(number) {
            ($0.subscription, $0.gap) = (nil, .revoked(reason: reason))
            ($0.awaitingRetained, $0.unserved) = ([], $0.awaitingRetained + $0.unserved)
            if now - $0.standsSince >= Self.settledAfter { $0.tries = 0 }
        }
        guard let topic = topics[number], topic.tries < Self.mostTries else {
            let uri = reason.flatMap { WAMPURI.isValid($0) ? $0 : nil } ?? WAMPURI.Error.noSuchSubscription
            return end(topic: number, .refused(uri: uri, arguments: .none), at: now, into: &effects)
        }
        if topic.flight == nil { pauseTopic(number, at: now) }
    }

    // MARK: Ends

    mutating func loseTopics(at now: Moment, into effects: inout [ClientEffect]) {
        topics.own.lose()
        for number in topics.inOrder {
            finishHistory(topic: number, nil, into: &effects)
            alarms.cancel(.topic(number))
            let wasAsked = topics[number]?.flight == .subscribe
            for handle in topics[number]?.listeners ?? [] {
                guard let listener = topics.listeners[handle], !listener.isSubscribed else { continue }
                if let until = listener.waitsUntil, until > now {
                    alarms.set(.listener(handle), at: until)
                } else {
                    end(listener: handle, .connectionLost(wasSent: wasAsked), into: &effects)
                }
            }
            let retaining = (topics[number]?.listeners ?? []).filter { topics.listeners[$0]?.options.wantsRetained == true }
            topics.update(number) {
                ($0.subscription, $0.flight, $0.tries, $0.isPausing) = (nil, nil, 0, false)
                ($0.awaitingRetained, $0.unserved, $0.gap) = ([], retaining, .reconnected)
            }
            notifyUnsubscribing(of: number, into: &effects)
            settle(topic: number, at: now, into: &effects)
        }
    }

    mutating func timeOut(listener handle: ClientHandle, at now: Moment, into effects: inout [ClientEffect]) {
        guard let listener = topics.listeners[handle] else {
            if topics.takeUnsubscribing(handle) { effects.append(.event(.failed(handle, .timedOut(wasSent: true)))) }
            return
        }
        end(listener: handle, .timedOut(wasSent: topics[listener.topic]?.flight == .subscribe), into: &effects)
        settle(topic: listener.topic, at: now, into: &effects)
    }

    /// Handles the end of a pause; or reconnects if the router did not answer a SUBSCRIBE for existing listeners.
    mutating func wakeTopic(_ number: Int, at now: Moment, into effects: inout [ClientEffect]) {
        guard let topic = topics[number] else { return }
        if topic.isPausing {
            topics.update(number) { $0.isPausing = false }
            settle(topic: number, at: now, into: &effects)
        } else if topic.flight == .subscribe, topic.subscription == nil, topic.listeners.contains(where: { !topics.waiting.contains($0) }) {
            drop(.violation("SUBSCRIBE was not answered in time"), at: now, into: &effects)
        }
    }

    private mutating func pauseTopic(_ number: Int, at now: Moment) {
        alarms.set(.topic(number), at: now + pause(try: topics[number]?.tries ?? 0))
        topics.update(number) {
            $0.tries += 1
            $0.isPausing = true
        }
    }

    private mutating func end(topic number: Int, _ failure: ClientFailure, at now: Moment, into effects: inout [ClientEffect]) {
        for handle in topics[number]?.listeners ?? [] { end(listener: handle, failure, into: &effects) }
        settle(topic: number, at: now, into: &effects)
    }

    private mutating func end(listener handle: ClientHandle, _ failure: ClientFailure, into effects: inout [ClientEffect]) {
        alarms.cancel(.listener(handle))
        guard topics.remove(handle) != nil else { return }
        effects.append(.event(.failed(handle, failure)))
    }

    /// The maximum number of tries after the router revoked or temporarily refused something.
    static var mostTries: Int { 8 }
    /// How long a registration or subscription must exist before its earlier tries no longer count.
    static var settledAfter: Duration { .seconds(60) }
}

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
