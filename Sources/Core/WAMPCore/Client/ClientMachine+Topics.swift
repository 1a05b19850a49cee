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
