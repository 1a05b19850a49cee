import CodecCore
import MachineCore
import ProtocolCore
import WAMPCore

/// What is made of it.
extension Audited {
    mutating func judge(_ effect: ClientEffect) {
        switch effect {
        case .send(let message): judge(message)
        case .ready: expect(isGreeting && !hasJoined && !isSilenced, "a connection is ready once, by its welcome")
        case .event(.challenged), .event(.welcomed): expect(false, "nobody asked for a proof")
        case .event(.testamentFailed): expect(false, "nobody left a testament")
        case .event(.ended(let ending)):
            expect(!hasJoined, "who is told to end the connection is told before that the session is over")
            if ending.isFinal { isOver = true }
            isSilenced = true
            endSession()
        case .end: expect(isSilenced, "a connection is ended for a reason")
        case .event(let news): judge(news)
        }
    }

    mutating func judge(_ message: WAMPMessage) {
        expect(isOpen && !isSilenced, "nothing is sent without a connection")
        switch message {
        case .hello:
            expect(lastID == 0 && !hasJoined, "HELLO is first")
            isGreeting = true
        case .abort, .goodbye: expect(true, "at any time")
        case .call(let id, _, _, _) where id <= lastID:
            expect(open.contains { $0.id == id }, "input in parts is of a call that is open")
        case .call(let id, _, _, _), .publish(let id, _, _, _), .register(let id, _, _): note(id, message)
        case .subscribe(let id, let options, let topic):
            let key = TopicKey(topic, match: options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact)
            expect(!isUnderWay(key), "SUBSCRIBE and UNSUBSCRIBE of a topic are not under way together")
            note(id, message)
        case .unsubscribe(let id, let subscription):
            guard let standing = subscriptions.first(where: { $0.id == subscription }) else {
                // The router has taken it away at the same time.
                return note(id, message)
            }
            expect(!isUnderWay(standing.key), "UNSUBSCRIBE and SUBSCRIBE of a topic are not under way together")
            note(id, message)
        case .unregister(let id, let registration):
            expect(registrations.contains { $0.id == registration }, "only what stands is unregistered")
            note(id, message)
        case .cancel(let id, _): expect(open.contains { $0.id == id }, "only what is open is cancelled")
        case .yield(let id, let options, _):
            expect(unanswered.contains(id), "each invocation is answered once")
            if options["progress"] == nil { unanswered.remove(id) }
        case .error(.invocation, let id, _, _, _):
            expect(unanswered.remove(id) != nil, "each invocation is answered once")
        default: expect(false, "a client does not send \(message)")
        }
    }

    mutating func note(_ id: WAMPID, _ message: WAMPMessage) {
        expect(hasJoined, "requests are sent within a session")
        expect(id == lastID + 1, "the numbers go up by one")
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
            expect(live[handle] == .call, "a result is that of a call that has not ended")
            if isFinal { live[handle] = nil }
        case .published(let handle, _): expect(live.removeValue(forKey: handle) == .publication, "a publication ends once")
        case .failed(let handle, _): expect(live.removeValue(forKey: handle) != nil, "everything ends once")
        case .subscribed(let handle, _):
            expect(live[handle] == .listener, "only who listens is told")
            told.insert(handle)
        case .unsubscribed(let handle): expect(live.removeValue(forKey: handle) == .leaver, "only who has left is told, and once")
        case .event(let handles, _, _, _, _), .gap(let handles, _):
            expect(!handles.isEmpty, "somebody is told")
            expect(Set(handles).count == handles.count, "nobody is told twice")
            for handle in handles { expect(live[handle] == .listener && told.contains(handle), "only who is subscribed is told") }
        case .registered(let handle, _), .suspended(let handle): expect(live[handle] == .procedure, "only who offers is told")
        case .invoked(let handle, let procedure, _, _):
            expect(live[procedure] == .procedure, "only what is offered is called")
            invocations.append(handle)
        case .invokedFurther(let handle, _, _): expect(invocations.contains(handle), "only what runs gets more input")
        case .interrupted(let handle, _): expect(handle.number >= 1 << 63, "an invocation is the machine's own")
        }
    }
}
