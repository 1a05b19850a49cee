internal import CodecCore

/// The names of requests, topics and procedures that a session's messages refer to by number.
///
/// They are learned from the messages themselves. Their number is limited, even if a peer leaves requests unanswered.
package struct MessageNames: Sendable {
    private struct Key: Hashable {
        let kind: WAMPRequestKind
        let request: WAMPID
    }
    /// The number of cancelled calls that keep their name, because not every router answers them.
    package static let patience = 256
    /// The maximum number of names of a kind.
    ///
    /// When it is reached, all names of that kind are dropped, because new names are more useful.
    package static let capacity = 4096
    private var requests: [Key: String] = [:]
    private var topics: [WAMPID: String] = [:]
    private var procedures: [WAMPID: String] = [:]
    /// The subscription or registration that ends when this request is answered.
    private var leaving: [Key: WAMPID] = [:]
    /// Cancelled calls, oldest first.
    private var cancelled: [WAMPID] = []

    /// Creates an empty set of names.
    package init() {}

    /// Returns a wording that uses these names.
    package func wording(payloadLimit: Int) -> WAMPWording {
        WAMPWording(
            payloadLimit: payloadLimit, topic: { topics[$0] }, procedure: { procedures[$0] },
            request: { requests[Key(kind: $0, request: $1)] })
    }

    /// Records a message that this side sends.
    package mutating func noteSent(_ message: WAMPMessage) {
        switch message {
        // A publication without acknowledgement gets no answer.
        case .publish(let request, let options, let uri, _): if options["acknowledge"] == true { note(.publish, request, uri) }
        case .subscribe(let request, _, let uri): note(.subscribe, request, uri)
        case .call(let request, _, let uri, _): note(.call, request, uri)
        case .register(let request, _, let uri): note(.register, request, uri)
        case .unsubscribe(let request, let id): note(.unsubscribe, request, topics[id], leaving: id)
        case .unregister(let request, let id): note(.unregister, request, procedures[id], leaving: id)
        case .cancel(let request, _):
            cancelled.append(request)
            if cancelled.count > Self.patience { forget(.call, cancelled.removeFirst()) }
        case .yield(let request, let options, _) where options["progress"] != true: forget(.invocation, request)
        case .error(.invocation, let request, _, _, _): forget(.invocation, request)
        case .hello: self = MessageNames()
        default: break
        }
    }

    /// Records a message from the peer.
    package mutating func noteReceived(_ message: WAMPMessage) {
        switch message {
        case .published(let request, _): forget(.publish, request)
        case .subscribed(let request, let id): take(Key(kind: .subscribe, request: request), as: id, of: \.topics)
        case .registered(let request, let id): take(Key(kind: .register, request: request), as: id, of: \.procedures)
        case .unsubscribed(0, let details): if let id = details["subscription"]?.int { topics[WAMPID(clamping: id)] = nil }
        case .unregistered(0, let details): if let id = details["registration"]?.int { procedures[WAMPID(clamping: id)] = nil }
        case .unsubscribed(let request, _): if let id = forget(.unsubscribe, request) { topics[id] = nil }
        case .unregistered(let request, _): if let id = forget(.unregister, request) { procedures[id] = nil }
        case .result(let request, let details, _) where details["progress"] != true: forget(.call, request)
        case .error(let kind, let request, _, _, _): forget(kind, request)
        // The called procedure is more useful than the pattern of the registration.
        case .invocation(let request, let id, let details, _):
            note(.invocation, request, details["procedure"]?.string ?? procedures[id])
        default: break
        }
    }

    private mutating func note(_ kind: WAMPRequestKind, _ request: WAMPID, _ name: String?, leaving id: WAMPID? = nil) {
        guard let name else { return }
        if requests.count >= Self.capacity { (requests, leaving) = ([:], [:]) }
        requests[Key(kind: kind, request: request)] = name
        leaving[Key(kind: kind, request: request)] = id
    }

    /// Moves a name from an answered request to the ID that the router gave it.
    private mutating func take(_ key: Key, as id: WAMPID, of names: WritableKeyPath<MessageNames, [WAMPID: String]>) {
        guard let name = requests.removeValue(forKey: key) else { return }
        if self[keyPath: names].count >= Self.capacity { self[keyPath: names] = [:] }
        self[keyPath: names][id] = name
    }

    /// Forgets an answered request; returns the subscription or registration that the request has ended, if any.
    @discardableResult private mutating func forget(_ kind: WAMPRequestKind, _ request: WAMPID) -> WAMPID? {
        requests[Key(kind: kind, request: request)] = nil
        return leaving.removeValue(forKey: Key(kind: kind, request: request))
    }
}
