import CodecCore
import MachineCore
import WAMPCore

/// The part of a router that this client needs.
extension Audited {
    mutating func takeRequest(_ place: Int) -> Request? {
        hasJoined && open.indices.contains(place) ? open.remove(at: place) : nil
    }
    /// Whether a message answers no open request and ends no subscription or registration.
    func isNonsense(_ message: WAMPMessage) -> Bool {
        switch message {
        case .result(let id, _, _), .error(_, let id, _, _, _), .subscribed(let id, _), .registered(let id, _), .published(let id, _):
            !open.contains { $0.id == id }
        case .unsubscribed(let id, let details):
            !open.contains { $0.id == id } && !subscriptions.contains { Value($0.id) == details["subscription"] }
        case .unregistered(let id, let details):
            !open.contains { $0.id == id } && !registrations.contains { Value($0.id) == details["registration"] }
        default: true
        }
    }
    mutating func accept(_ request: Request) -> WAMPMessage? {
        nextGrant += 1
        switch request.message {
        case .call(_, _, "wamp.subscription.get_events", _):
            let events: Value = [["publication": Value(nextGrant)], ["publication": Value(nextGrant - 1)]]
            return .result(request: request.id, details: [:], WAMPArguments([events]))
        case .call: return .result(request: request.id, details: [:], .none)
        case .publish: return .published(request: request.id, publication: nextGrant)
        case .subscribe(_, let options, let topic):
            let key = TopicKey(topic, match: options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact)
            let id = subscriptions.first { $0.key == key }?.id ?? nextGrant
            if id == nextGrant { subscriptions.append(Standing(id: id, key: key)) }
            return .subscribed(request: request.id, subscription: id)
        case .unsubscribe(_, let subscription):
            subscriptions.removeAll { $0.id == subscription }
            return .unsubscribed(request: request.id, details: [:])
        case .register(_, _, let uri):
            registrations.append(Standing(id: nextGrant, key: TopicKey(uri)))
            return .registered(request: request.id, registration: nextGrant)
        case .unregister(_, let registration):
            registrations.removeAll { $0.id == registration }
            return .unregistered(request: request.id, details: [:])
        default: return nil
        }
    }
    func refuse(_ request: Request, _ uri: String) -> WAMPMessage? {
        WAMPRequestKind(rawValue: request.message.type).map { .error($0, request: request.id, details: [:], uri: uri, .none) }
    }
}
