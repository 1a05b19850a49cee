import CodecCore
import MachineCore

/// Lookups for the meta API. Source: WAMP, "Subscription Meta API".
extension Broker {
    /// Returns the subscriptions with this match policy, in the order of their IDs.
    func subscriptions(matching match: WAMPMatch) -> [WAMPID] { subscriptions.values.filter { $0.match == match }.map(\.id).sorted() }

    /// Returns a subscription's details: `id`, `created`, `uri`, `match`.
    func details(of id: WAMPID) -> ValueMap? {
        guard let found = subscriptions[id] else { return nil }
        return [
            "id": Value(id), "created": .text("\(policy.time(at: found.created))"), "uri": .text(found.uri),
            "match": .text(found.match.rawValue),
        ]
    }

    /// Returns the sessions with this subscription, in the order of their IDs.
    func subscribers(of id: WAMPID) -> [WAMPID]? { subscriptions[id]?.subscribers.map(\.session).sorted() }

    /// Returns the number of sessions with this subscription.
    func countSubscribers(of id: WAMPID) -> Int? { subscriptions[id]?.subscribers.count }

    /// Returns the last events of a subscription that this session could have received, oldest first.
    func history(of id: WAMPID, for reader: Participant) -> [HistoricEvent]? {
        subscriptions[id]?.history(policy.historyLength).filter {
            $0.concealedFrom != reader.session && $0.audience?.admits(authID: reader.authID, authRole: reader.authRole) ?? true
        }
    }
}
