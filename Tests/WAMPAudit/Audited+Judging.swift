import CodecCore
import MachineCore
import ProtocolCore
import WAMPCore

/// The checks of the effects.
extension Audited {
    mutating func judge(_ effect: ClientEffect) {
        switch effect {
        case .send(let message): judge(message)
        case .ready: expect(isGreeting && !hasJoined && !isSilenced, "a connection becomes ready once, after WELCOME")
        case .event(.challenged), .event(.welcomed): expect(false, "there is no authentication")
        case .event(.testamentFailed): expect(false, "there are no testaments")
        case .event(.ended(let ending)):
            expect(!hasJoined, "the session ends before its connection")
            if ending.isFinal { isOver = true }
            isSilenced = true
            endSession()
        case .end: expect(isSilenced, "a connection ends only with a reason")
        case .connect: expect(false, "a WAMP client never disconnects for a while")
        case .event(let news): judge(news)
        }
    }

    mutating func judge(_ message: WAMPMessage) {
        expect(isOpen && !isSilenced, "messages are sent only on an open connection")
        switch message {
        case .hello:
            expect(lastID == 0 && !hasJoined, "HELLO is the first message")
            isGreeting = true
        case .abort, .goodbye: expect(true, "ABORT and GOODBYE are allowed at any time")
        case .call(let id, _, _, _) where id <= lastID:
            expect(open.contains { $0.id == id }, "progressive input belongs to an open call")
        case .call(let id, _, _, _), .publish(let id, _, _, _), .register(let id, _, _): note(id, message)
        case .subscribe(let id, let options, let topic):
            let key = TopicKey(topic, match: options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact)
            expect(!isUnderWay(key), "a topic has one SUBSCRIBE or UNSUBSCRIBE in flight")
            note(id, message)
        case .unsubscribe(let id, let subscription):
            guard let standing = subscriptions.first(where: { $0.id == subscription }) else {
                // The router has revoked it at the same time.
                return note(id, message)
            }
            expect(!isUnderWay(standing.key), "a topic has one UNSUBSCRIBE or SUBSCRIBE in flight")
            note(id, message)
        case .unregister(let id, let registration):
            expect(registrations.contains { $0.id == registration }, "only an existing registration is unregistered")
            note(id, message)
        case .cancel(let id, _): expect(open.contains { $0.id == id }, "only an open request is cancelled")
        case .yield(let id, let options, _):
            expect(unanswered.contains(id), "each invocation is answered once")
            if options["progress"] == nil { unanswered.remove(id) }
        case .error(.invocation, let id, _, _, _):
            expect(unanswered.remove(id) != nil, "each invocation is answered once")
        default: expect(false, "a client does not send \(message)")
        }
    }

    mutating func note(_ id: WAMPID, _ message: WAMPMessage) {
        expect(hasJoined, "requests are sent only within a session")
        expect(id == lastID + 1, "request ids increase by one")
        lastID = id
        if case .publish(_, let options, _, _) = message, options["acknowledge"] == nil { return }
        open.append(Request(id: id, message: message))
    }

    func isUnderWay(_ key: TopicKey) -> Bool {
        open.contains { request in
            switch request.message {
            case .subscribe(_, let options, let topic):
                TopicKey(topic, match: options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact) == key
            case .unsubscribe(_, let subscription): subscriptions.contains { $0.id == subscription && $0.key == key }
            default: false
            }
        }
    }

    mutating func judge(_ news: ClientNews) {
        switch news {
        case .joined:
            expect(!hasJoined, "a session is joined once")
            (isGreeting, hasJoined) = (false, true)
        case .challenged, .welcomed, .ended, .testamentFailed: break
        case .parted:
            hasJoined = false
            invocations = []
        case .result(let handle, _, _, let isFinal):
            expect(live[handle] == .call, "a result belongs to an open call")
            if isFinal { live[handle] = nil }
        case .published(let handle, _): expect(live.removeValue(forKey: handle) == .publication, "a publication ends once")
        case .failed(let handle, _): expect(live.removeValue(forKey: handle) != nil, "each request ends once")
        case .subscribed(let handle, _):
            expect(live[handle] == .listener, "only an active listener is told")
            active.insert(handle)
        case .unsubscribed(let handle): expect(live.removeValue(forKey: handle) == .leaver, "only a listener that left is told, and once")
        case .event(let handles, _, _, _, _), .gap(let handles, _):
            expect(!handles.isEmpty, "an event or gap has a listener")
            expect(Set(handles).count == handles.count, "each listener is told once")
            for handle in handles { expect(live[handle] == .listener && active.contains(handle), "only a subscribed listener is told") }
        case .registered(let handle, _), .suspended(let handle): expect(live[handle] == .procedure, "only a procedure is told")
        case .invoked(let handle, let procedure, _, _):
            expect(live[procedure] == .procedure, "only a registered procedure is called")
            invocations.append(handle)
        case .invokedFurther(let handle, _, _): expect(invocations.contains(handle), "only a running invocation gets more input")
        case .interrupted(let handle, _): expect(handle.number >= 1 << 63, "the machine made the handle of the invocation")
        }
    }
}
