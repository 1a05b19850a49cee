import CodecCore
import MachineCore

extension Broker {
    /// Handles a PUBLISH.
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func publish(
        _ request: WAMPID, _ options: ValueMap, _ topic: String, _ arguments: WAMPArguments, by publisher: Participant,
        room: RetentionBudget, at now: Moment, into effects: inout [RouterEffect]
    ) -> String? {
        let publication: BrokerPublication
        do throws(OptionError) {
            publication = try BrokerPublication(topic, arguments, options: options)
        } catch { return error.words }
        if let (uri, words) = objection(to: publication) {
            // A publisher that did not ask for an answer gets none, not even this.
            if publication.isAcknowledged { effects.append(.refuse(.publish, request, of: publisher, uri, words)) }
            return nil
        }
        let isKept = publish(
            publication, for: publication.isAcknowledged ? request : nil, by: publisher, room: room, at: now, into: &effects)
        if !isKept, publication.isAcknowledged {
            effects.append(.refuse(.publish, request, of: publisher, room.refusal.uri, room.refusal.words))
        }
        return nil
    }

    /// Returns why something cannot be published; nil if it can.
    func objection(to publication: BrokerPublication) -> (uri: String, words: String)? {
        guard policy.allows(uri: publication.topic) else { return (WAMPURI.Error.invalidURI, "the topic URI is invalid") }
        guard !WAMPURI.isReserved(publication.topic) else {
            return (WAMPURI.Error.invalidURI, "topics below wamp are reserved for the router")
        }
        guard publication.disclosesMe != true || policy.discloses != false else {
            return (WAMPURI.Error.discloseMeDisallowed, "this router does not disclose publishers")
        }
        return nil
    }

    /// Sends an event to all subscribers, and answers the request if there is one.
    ///
    /// - Parameters:
    ///   - publisher: The publisher; nil: the router itself.
    ///   - isTestament: Whether this is a testament of a publisher that has left.
    ///   - room: How many more bytes may be kept.
    /// - Returns: Whether it was published; false if it was to be retained and does not fit. A testament is always published.
    @discardableResult
    mutating func publish(
        _ publication: BrokerPublication, for request: WAMPID? = nil, by publisher: Participant?, isTestament: Bool = false,
        room: RetentionBudget = .unbounded, at now: Moment, into effects: inout [RouterEffect]
    ) -> Bool {
        let id = drawID()
        let details = publisher.map { disclosure(of: $0, in: publication) } ?? ValueMap()
        // Histories share this limit.
        let most = room.all == .max ? .max : keptBytes + room.all
        if publication.isRetained {
            let owner = isTestament ? nil : publisher?.session
            let event = RetainedEvent(publication, id: id, by: publisher, owner: owner, details: details)
            if retained.keep(event, bound: policy.maximumRetained, room: room) == .tooMuch, !isTestament { return false }
        }
        if let request, let publisher { effects.append(.send(.published(request: request, publication: id), to: publisher.connection)) }
        if index.hasPatterns {
            for subscription in index.matches(of: publication.topic) {
                deliver(publication, id, to: subscription, by: publisher, details, keeping: most, at: now, into: &effects)
            }
        } else if let subscription = index.exactly(publication.topic) {
            deliver(publication, id, to: subscription, by: publisher, details, keeping: most, at: now, into: &effects)
        }
        return true
    }

    /// Publishes an event of the meta API.
    mutating func publishMeta(_ topic: String, _ arguments: WAMPArguments, at now: Moment, into effects: inout [RouterEffect]) {
        guard !index.isEmpty else { return }
        publish(BrokerPublication(topic, arguments), by: nil, at: now, into: &effects)
    }

    private mutating func deliver(
        _ publication: BrokerPublication, _ id: WAMPID, to subscription: WAMPID, by publisher: Participant?, _ details: ValueMap,
        keeping most: Int, at now: Moment, into effects: inout [RouterEffect]
    ) {
        guard let found = subscriptions[subscription] else { return }
        let details = found.details(details, of: publication.topic)
        let message = WAMPMessage.event(subscription: subscription, publication: id, details: details, publication.arguments)
        let receivers = found.receivers(of: publication, by: publisher)
        switch receivers.count {
        case 0: break
        case 1: effects.append(.send(message, to: receivers[0]))
        default: effects.append(.sendToAll(message, receivers))
        }
        // An event for certain sessions means nothing to later ones. Source: WAMP, "Event History".
        guard policy.historyLength > 0, publisher != nil, publication.audience?.namesSessions != true else { return }
        let event = HistoricEvent(
            at: now, publication: id, topic: publication.topic, details: details, arguments: publication.arguments,
            audience: publication.audience, concealedFrom: publication.excludesMe ? publisher?.session : nil,
            weight: publication.weight)
        keep(event, in: subscription, most: most)
    }

    /// Keeps an event in a subscription's history, if there is space or space can be freed.
    private mutating func keep(_ event: HistoricEvent, in subscription: WAMPID, most: Int) {
        while keptBytes + event.weight > most {
            // The first unused subscription may be the one that the event belongs to.
            guard forgetHistory(but: subscription) else { return }
        }
        historyBytes += subscriptions[subscription]?.keep(event, length: policy.historyLength) ?? 0
    }

    /// Drops data that no present session keeps, until this many bytes are free.
    mutating func makeRoom(_ needed: Int) {
        let most = keptBytes - needed
        retained.makeRoom(needed)
        while keptBytes > most, forgetHistory(but: nil) {}
    }

    /// Drops the unused subscription that was left first, or half of the longest history; returns false if there is neither.
    private mutating func forgetHistory(but subscription: WAMPID?) -> Bool {
        if let first = lingering.first, first != subscription {
            dropFirstLingering(by: nil)
            return true
        }
        let longest = subscriptions.values.max { ($0.historyBytes, $1.id) < ($1.historyBytes, $0.id) }
        guard let longest, longest.historyBytes > 0 else { return false }
        historyBytes -= subscriptions[longest.id]?.forgetHalf() ?? 0
        return true
    }

    /// Returns the publisher's identity, as far as it may be disclosed.
    ///
    /// Source: WAMP, "Publisher Identification".
    private func disclosure(of publisher: Participant, in publication: BrokerPublication) -> ValueMap {
        guard policy.discloses ?? publication.disclosesMe ?? false else { return ValueMap() }
        return [
            "publisher": Value(publisher.session), "publisher_authid": .text(publisher.authID),
            "publisher_authrole": .text(publisher.authRole),
        ]
    }

    // MARK: Retained events

    /// Sends a new subscriber the retained events of its topic, or of all topics that its pattern matches.
    ///
    /// Source: WAMP, "Event Retention".
    func replay(_ id: WAMPID, to subscriber: Participant, into effects: inout [RouterEffect]) {
        guard let subscription = subscriptions[id] else { return }
        for event in retained.events(of: subscription.uri, subscription.match, for: subscriber) {
            var details = subscription.details(event.details, of: event.topic)
            details.entries.append(ValueMap.Entry(key: "retained", value: true))
            let message = WAMPMessage.event(subscription: id, publication: event.publication, details: details, event.arguments)
            effects.append(.send(message, to: subscriber.connection))
        }
    }
}
