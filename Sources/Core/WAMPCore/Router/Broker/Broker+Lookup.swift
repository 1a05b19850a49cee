import CodecCore
import MachineCore

/// What the meta API asks. Source: WAMP, "Subscription Meta API".
extension Broker {
    /// The subscriptions of a way to match, in the order of their ids.
    func subscriptions(matching match: WAMPMatch) -> [WAMPID] { subscriptions.values.filter { $0.match == match }.map(\.id).sorted() }

    /// A subscription's details: `id`, `created`, `uri`, `match`.
    func details(of id: WAMPID) -> ValueMap? {
        guard let found = subscriptions[id] else { return nil }
        return [
            "id": Value(id), "created": .text("\(policy.time(at: found.created))"), "uri": .text(found.uri),
            "match": .text(found.match.rawValue),
        ]
    }

    /// Who has a subscription, in the order of the ids.
    func subscribers(of id: WAMPID) -> [WAMPID]? { subscriptions[id]?.subscribers.map(\.session).sorted() }

    /// How many have it.
    func countSubscribers(of id: WAMPID) -> Int? { subscriptions[id]?.subscribers.count }

    /// The last events of a subscription that this session might have got, the oldest first.
    func history(of id: WAMPID, for reader: Participant) -> [HistoricEvent]? {
        subscriptions[id]?.history(policy.historyLength).filter {
            $0.concealedFrom != reader.session && $0.audience?.admits(authID: reader.authID, authRole: reader.authRole) ?? true
        }
    }
}
