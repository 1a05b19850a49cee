import CodecCore
import MachineCore

extension Broker {
    /// PUBLISH.
    ///
    /// - Returns: How the protocol was broken, or nil.
    mutating func publish(
        _ request: WAMPID, _ options: ValueMap, _ topic: String, _ arguments: WAMPArguments, by publisher: Participant, at now: Moment,
        into effects: inout [RouterEffect]
    ) -> String? {
        let publication: Publication
        do throws(OptionError) {
            publication = try Publication(topic, arguments, options: options)
        } catch { return error.words }
        if let (uri, words) = objection(to: publication) {
            // Who did not ask for an answer gets none, not even this.
            if publication.isAcknowledged { refuse(.publish, request, uri, words, to: publisher, into: &effects) }
            return nil
        }
        publish(publication, for: publication.isAcknowledged ? request : nil, by: publisher, at: now, into: &effects)
        return nil
    }

    /// Why something cannot be published.
    func objection(to publication: Publication) -> (uri: String, words: String)? {
        guard policy.allows(uri: publication.topic) else { return (WAMPURI.Error.invalidURI, "no topic can be called this") }
        guard !WAMPURI.isReserved(publication.topic) else {
            return (WAMPURI.Error.invalidURI, "topics under wamp are the router's own")
        }
        guard publication.disclosesMe != true || policy.discloses != false else {
            return (WAMPURI.Error.discloseMeDisallowed, "this router names no publishers")
        }
        return nil
    }

    /// Tells all subscribers, and answers the request if there is one.
    ///
    /// - Parameter publisher: nil: the router itself.
    mutating func publish(
        _ publication: Publication, for request: WAMPID? = nil, by publisher: Participant?, at now: Moment,
        into effects: inout [RouterEffect]
    ) {
        let id = drawID()
        if let request, let publisher { effects.append(.send(.published(request: request, publication: id), to: publisher.connection)) }
        let details = publisher.map { disclosure(of: $0, in: publication) } ?? ValueMap()
        if publication.isRetained {
            let event = RetainedEvent(publication, id: id, by: publisher, details: details)
            retained.keep(event, bound: policy.maximumRetained)
        }
        if index.hasPatterns {
            for subscription in index.matches(of: publication.topic) {
                deliver(publication, id, to: subscription, by: publisher, details, at: now, into: &effects)
            }
        } else if let subscription = index.exactly(publication.topic) {
            deliver(publication, id, to: subscription, by: publisher, details, at: now, into: &effects)
        }
    }

    /// Publishes an event of the meta API.
    mutating func publishMeta(_ topic: String, _ arguments: WAMPArguments, at now: Moment, into effects: inout [RouterEffect]) {
        guard !index.isEmpty else { return }
        publish(Publication(topic, arguments), by: nil, at: now, into: &effects)
    }

    private mutating func deliver(
        _ publication: Publication, _ id: WAMPID, to subscription: WAMPID, by publisher: Participant?, _ details: ValueMap, at now: Moment,
        into effects: inout [RouterEffect]
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
        // What was meant for certain sessions says nothing to later ones. Source: WAMP, "Event History".
        guard policy.historyLength > 0, publisher != nil, publication.audience?.namesSessions != true else { return }
        let event = HistoricEvent(
            at: now, publication: id, topic: publication.topic, details: details, arguments: publication.arguments,
            audience: publication.audience, concealedFrom: publication.excludesMe ? publisher?.session : nil)
        subscriptions[subscription]?.keep(event, length: policy.historyLength)
    }

    /// Who publishes, as far as it may be told.
    ///
    /// Source: WAMP, "Publisher Identification".
    private func disclosure(of publisher: Participant, in publication: Publication) -> ValueMap {
        guard policy.discloses ?? publication.disclosesMe ?? false else { return ValueMap() }
        return [
            "publisher": Value(publisher.session), "publisher_authid": .text(publisher.authID),
            "publisher_authrole": .text(publisher.authRole),
        ]
    }

    // MARK: Retained events

    /// Sends a new subscriber what is retained of its topic, or of all topics that its pattern matches.
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
