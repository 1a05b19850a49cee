import CodecCore
import MachineCore

// WAMP, "Registration Meta API" and "Subscription Meta API".
extension Realm {
    /// Answers a call of the meta API about registrations and subscriptions.
    func answer(_ procedure: MetaProcedure, _ call: MetaCall, for caller: Participant) throws(MetaRefusal) -> WAMPArguments {
        switch procedure {
        case .registrationList:
            try Self.checkLength(dealer.registrations.count)
            return WAMPArguments([MetaCall.ids(of: dealer.registrations(matching:))])
        case .registrationLookup: return Self.one(dealer.procedures[try call.text(0, "a procedure"), try call.match()])
        case .registrationMatch: return Self.one(dealer.procedures.best(for: try call.text(0, "a procedure")))
        case .registrationGet: return WAMPArguments([.map(dealer.details(of: try registration(call)))])
        case .registrationListCallees: return WAMPArguments([MetaCall.ids(try registration(call).callees)])
        case .registrationCountCallees: return WAMPArguments([Value(UInt64(try registration(call).callees.count))])

        case .subscriptionList:
            try Self.checkLength(broker.subscriptions.count)
            return WAMPArguments([MetaCall.ids(of: broker.subscriptions(matching:))])
        case .subscriptionLookup: return Self.one(broker.index[try call.text(0, "a topic"), try call.match()])
        case .subscriptionMatch:
            let found = broker.index.matches(of: try call.text(0, "a topic"))
            return WAMPArguments([found.isEmpty ? .null : MetaCall.ids(found)])
        case .subscriptionGet: return WAMPArguments([.map(try found(broker.details(of: try call.id())))])
        case .subscriptionListSubscribers: return WAMPArguments([MetaCall.ids(try found(broker.subscribers(of: try call.id())))])
        case .subscriptionCountSubscribers:
            return WAMPArguments([Value(UInt64(try found(broker.countSubscribers(of: try call.id()))))])
        case .subscriptionGetEvents: return try events(call, for: caller)
        default: throw MetaRefusal(WAMPURI.Error.noSuchProcedure, "no callee has registered \(procedure.rawValue)")
        }
    }

    /// Refuses a very long list, because all other clients would wait while it is built.
    private static func checkLength(_ count: Int) throws(MetaRefusal) {
        guard count > MetaCall.listLimit else { return }
        throw MetaRefusal(WAMPURI.Error.unavailable, "there are more than \(MetaCall.listLimit): look up single entries, or match a URI")
    }

    private static func one(_ id: WAMPID?) -> WAMPArguments { WAMPArguments([id.map { Value($0) } ?? .null]) }

    private func registration(_ call: MetaCall) throws(MetaRefusal) -> Dealer.Registration {
        guard let registration = dealer.registrations[try call.id()] else {
            throw MetaRefusal(WAMPURI.Error.noSuchRegistration, "there is no such registration")
        }
        return registration
    }

    private func found<Answer>(_ answer: Answer?) throws(MetaRefusal) -> Answer {
        guard let answer else { throw MetaRefusal(WAMPURI.Error.noSuchSubscription, "there is no such subscription") }
        return answer
    }

    /// Returns past events of a subscription as arguments.
    ///
    /// Source: WAMP, "Event History".
    private func events(_ call: MetaCall, for caller: Participant) throws(MetaRefusal) -> WAMPArguments {
        let id = try call.id()
        let filter = try MetaHistory(call)
        let picked = filter.pick(try found(broker.history(of: id, for: caller))) { broker.policy.time(at: $0.at) }
        var (room, count) = (MetaCall.eventBytes, 0)
        for event in picked {
            room -= event.arguments.weight + event.topic.utf8.count + 256
            if room < 0, count > 0 { break }
            count += 1
        }
        return WAMPArguments(
            picked.prefix(count).map { event in
                var map: ValueMap = [
                    "timestamp": .text(MetaHistory.text(broker.policy.time(at: event.at))), "subscription": Value(id),
                    "publication": Value(event.publication), "topic": .text(event.topic), "details": .map(event.details),
                ]
                if let list = try? event.arguments.list, !list.isEmpty { map["args"] = .array(list) }
                if let keywords = try? event.arguments.keywords, !keywords.isEmpty { map["kwargs"] = .map(keywords) }
                return .map(map)
            })
    }
}

extension Dealer {
    /// Returns the registrations with a match policy, in the order of their IDs.
    func registrations(matching match: WAMPMatch) -> [WAMPID] {
        registrations.values.filter { $0.match == match }.map(\.id).sorted()
    }
}
