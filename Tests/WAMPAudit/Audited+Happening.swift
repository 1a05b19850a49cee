import CodecCore
import MachineCore
import ProtocolCore
import WAMPCore

/// The inputs of the machine.
extension Audited {
    mutating func translate(_ input: Input) -> ClientInput? {
        switch input {
        case .open:
            endSession()
            (isOpen, isSilenced) = (true, isOver)
            return .opened([:])
        case .lose:
            endSession()
            isOpen = false
            return .lost(unsent: [])
        case .welcome: return isGreeting ? .received(.welcome(session: 1, details: Self.everything)) : nil
        case .call(let number, let timeout):
            return begin(number, .call).map {
                .command(.call($0, procedure: "com.add", .none, CallOptions(timeout: timeout, wantsProgress: number % 2 == 1)))
            }
        case .callInParts(let number):
            return begin(number, .call).map {
                .command(.callInParts($0, procedure: "com.add", .none, CallOptions(joinPatience: .seconds(3))))
            }
        case .part(let number): return .command(.part(ClientHandle(number), .none, isLast: number % 3 == 0))
        case .cancel(let number): return .command(.cancel(ClientHandle(number)))
        case .publish(let number, let isAcknowledged):
            return begin(number, .publication).map {
                .command(.publish($0, topic: "com.chat", .none, PublishOptions(isAcknowledged: isAcknowledged, patience: .seconds(2))))
            }
        case .listen(let number, let topic, let wantsRetained, let history):
            let options = SubscribeOptions(wantsRetained: wantsRetained, historyAfterGap: history)
            let patience: Duration? = number % 5 == 0 ? nil : .seconds(4)
            return begin(number, .listener).map { .command(.subscribe($0, TopicKey(topic), options, patience: patience)) }
        case .unsubscribe(let number) where number % 2 == 1:
            let handle = end(byApp: number, .listener)
            if let handle { live[handle] = .leaver }
            return handle.map { .command(.endSubscription($0)) }
        case .unsubscribe(let number): return end(byApp: number, .listener).map { .command(.unsubscribe($0)) }
        case .offer(let number, let uri):
            let patience: Duration? = number % 5 == 0 ? nil : .seconds(4)
            return begin(number, .procedure).map {
                .command(.register($0, procedure: uri, RegisterOptions(takeoverPatience: .seconds(6)), patience: patience))
            }
        case .unregister(let number): return end(byApp: number, .procedure).map { .command(.unregister($0)) }
        case .accept(let place): return takeRequest(place).flatMap { accept($0) }.map { .received($0) }
        case .refuse(let place, let uri): return takeRequest(place).flatMap { refuse($0, uri) }.map { .received($0) }
        case .progress:
            let call = open.first { if case .call = $0.message { true } else { false } }
            return call.map { .received(.result(request: $0.id, details: ["progress": true], .none)) }
        case .event(let place, let isRetained):
            nextGrant += 1
            guard subscriptions.indices.contains(place) else { return nil }
            return .received(
                .event(
                    subscription: subscriptions[place].id, publication: nextGrant, details: isRetained ? ["retained": true] : [:], .none))
        case .revokeTopic(let place):
            guard subscriptions.indices.contains(place) else { return nil }
            return .received(.unsubscribed(request: 0, details: ["subscription": Value(subscriptions.remove(at: place).id)]))
        case .revokeProcedure(let place):
            guard registrations.indices.contains(place) else { return nil }
            return .received(.unregistered(request: 0, details: ["registration": Value(registrations.remove(at: place).id)]))
        case .invoke(let place, let isOpen):
            guard registrations.indices.contains(place) else { return nil }
            nextGrant += 1
            unanswered.insert(nextGrant)
            return .received(
                .invocation(
                    request: nextGrant, registration: registrations[place].id,
                    details: isOpen ? ["progress": true, "receive_progress": true] : [:], .none))
        case .interrupt(let place):
            let ids = unanswered.sorted()
            return ids.indices.contains(place) ? .received(.interrupt(request: ids[place], options: [:])) : nil
        case .yield(let place, let isFinal):
            guard invocations.indices.contains(place) else { return nil }
            return .command(.yield(isFinal ? invocations.remove(at: place) : invocations[place], .none, isFinal: isFinal))
        case .fail(let place):
            guard invocations.indices.contains(place) else { return nil }
            return .command(.fail(invocations.remove(at: place), uri: "com.acme.wrong", .none))
        case .goodbye: return .received(.goodbye(details: [:], reason: "wamp.close.normal", .none))
        case .abort(let reason): return .received(.abort(details: [:], reason: reason, .none))
        case .leave:
            hasLeft = true
            return .command(.leave(reason: "wamp.close.close_realm"))
        case .nonsense(let message): return isNonsense(message) ? .received(message) : nil
        }
    }

    /// A new handle, or nil if it was used before.
    mutating func begin(_ number: UInt64, _ kind: Kind) -> ClientHandle? {
        let handle = ClientHandle(number)
        guard used.insert(handle).inserted else { return nil }
        live[handle] = kind
        return handle
    }
    mutating func end(byApp number: UInt64, _ kind: Kind) -> ClientHandle? {
        let handle = ClientHandle(number)
        guard live[handle] == kind else { return nil }
        live[handle] = nil
        return handle
    }
    mutating func endSession() {
        (isGreeting, hasJoined, lastID, open, subscriptions, registrations, unanswered) = (false, false, 0, [], [], [], [])
    }

    /// The details of a router with all features.
    private static var everything: ValueMap {
        [
            "roles": [
                "broker": ["features": ["pattern_based_subscription": true, "event_history": true]],
                "dealer": [
                    "features": [
                        "call_canceling": true, "call_timeout": true, "progressive_call_results": true,
                        "progressive_call_invocations": true, "pattern_based_registration": true, "shared_registration": true,
                    ]
                ],
            ]
        ]
    }
}
