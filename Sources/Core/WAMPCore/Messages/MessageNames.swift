internal import CodecCore

/// What the numbers in a session's messages stand for, learned from the messages themselves; bounded, whatever a peer leaves unanswered.
package struct MessageNames: Sendable {
    private struct Key: Hashable {
        let kind: WAMPRequestKind
        let request: WAMPID
    }
    /// How many cancelled calls keep their name: not every router answers them.
    package static let patience = 256
    /// How many names of a kind are remembered.
    ///
    /// When there are more, all of that kind are forgotten: those that come are of more use.
    package static let capacity = 4096
    private var requests: [Key: String] = [:]
    private var topics: [WAMPID: String] = [:]
    private var procedures: [WAMPID: String] = [:]
    /// What is no subscription or registration any more once this request is answered.
    private var leaving: [Key: WAMPID] = [:]
    /// Calls that were cancelled, the oldest first.
    private var cancelled: [WAMPID] = []

    /// Nothing is known.
    package init() {}

    /// How the names go into words.
    package func wording(payloadLimit: Int) -> WAMPWording {
        WAMPWording(
            payloadLimit: payloadLimit, topic: { topics[$0] }, procedure: { procedures[$0] },
            request: { requests[Key(kind: $0, request: $1)] })
    }

    /// This side sends a message.
    package mutating func noteSent(_ message: WAMPMessage) {
        switch message {
        // Without an acknowledgement nothing more is heard of it.
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

    /// The peer has sent a message.
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
        // A pattern says little.
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

    /// What was asked for under a name stands, and is called by an id from now on.
    private mutating func take(_ key: Key, as id: WAMPID, of names: WritableKeyPath<MessageNames, [WAMPID: String]>) {
        guard let name = requests.removeValue(forKey: key) else { return }
        if self[keyPath: names].count >= Self.capacity { self[keyPath: names] = [:] }
        self[keyPath: names][id] = name
    }

    /// A request is answered; which subscription or registration it has ended, if it did.
    @discardableResult private mutating func forget(_ kind: WAMPRequestKind, _ request: WAMPID) -> WAMPID? {
        requests[Key(kind: kind, request: request)] = nil
        return leaving.removeValue(forKey: Key(kind: kind, request: request))
    }
}
