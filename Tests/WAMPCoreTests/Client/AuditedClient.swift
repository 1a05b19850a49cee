import CodecCore
import MachineCore

@testable import WAMPCore

/// A client beside a plain list of what it was asked for and what it has sent, which tells the first promise that was broken.
struct AuditedClient: Machine, Hashable {
    /// What happens; answers are those of a router to what it was really sent.
    enum Input: Hashable, Sendable {
        case open, lose, welcome
        case call(UInt64, timeout: Duration?), callInParts(UInt64), part(UInt64), cancel(UInt64), publish(UInt64, isAcknowledged: Bool)
        case listen(UInt64, String, wantsRetained: Bool, history: Int), unsubscribe(UInt64)
        case offer(UInt64, String), unregister(UInt64)
        /// The router takes, or refuses, the request with this place among the open ones.
        case accept(Int), refuse(Int, String), progress
        /// Of the subscription, registration or invocation with this place.
        case event(Int, retained: Bool), revokeTopic(Int), revokeProcedure(Int), invoke(Int, isOpen: Bool), interrupt(Int)
        /// The app's answer to an invocation.
        case yield(Int, isFinal: Bool), fail(Int)
        case goodbye, abort(String), leave
        /// Whatever a router in its right mind does not send.
        case nonsense(WAMPMessage)
    }
    enum Kind: Hashable, Sendable { case call, publication, listener, procedure }
    struct Request: Hashable, Sendable {
        let id: WAMPID
        let message: WAMPMessage
    }
    struct Standing: Hashable, Sendable {
        let id: WAMPID
        let key: TopicKey
    }

    private(set) var machine: ClientMachine
    /// What has begun and not ended.
    private(set) var live: [ClientHandle: Kind] = [:]
    private(set) var used: Set<ClientHandle> = []
    private(set) var told: Set<ClientHandle> = []
    private(set) var isOpen = false
    private(set) var hasJoined = false
    private(set) var isSilenced = false
    private(set) var isOver = false
    private(set) var lastID: WAMPID = 0
    /// What the router was sent and has not answered; calls that were cancelled stay.
    private(set) var open: [Request] = []
    private(set) var subscriptions: [Standing] = []
    private(set) var registrations: [Standing] = []
    private(set) var invocations: [ClientHandle] = []
    private var unanswered: Set<WAMPID> = []
    private var nextGrant: WAMPID = 1000
    private(set) var fault: String?
    var deadline: Moment? { machine.deadline }

    init(policy: ClientPolicy = ClientPolicy(realm: "realm1"), seed: UInt64 = 1) { machine = ClientMachine(policy: policy, seed: seed) }

    mutating func handle(_ input: Input, at now: Moment, into effects: inout [ClientEffect]) {
        guard let real = translate(input) else { return }
        let first = effects.count
        machine.handle(real, at: now, into: &effects)
        for effect in effects[first...] { judge(effect) }
        check(at: now)
    }
    mutating func wake(at now: Moment, into effects: inout [ClientEffect]) {
        let first = effects.count
        machine.wake(at: now, into: &effects)
        for effect in effects[first...] { judge(effect) }
        check(at: now)
        expect(machine.deadline.map { $0 > now } ?? true, "what was due is done")
    }

    // MARK: What happens

    private mutating func translate(_ input: Input) -> ClientInput? {
        switch input {
        case .open:
            endSession()
            (isOpen, isSilenced) = (true, isOver)
            return .opened(authExtra: [:])
        case .lose:
            endSession()
            isOpen = false
            return .lost
        case .welcome: return machine.phase == .greeted ? .received(.welcome(session: 1, details: ClientBench.everything)) : nil
        case .call(let number, let timeout):
            return begin(number, .call).map { .call($0, CallOptions(timeout: timeout, wantsProgress: number % 2 == 1)) }
        case .callInParts(let number):
            return begin(number, .call).map { .callInParts($0, procedure: "com.add", .none, CallOptions(joinPatience: .seconds(3))) }
        case .part(let number): return .part(ClientHandle(number), .none, isLast: number % 3 == 0)
        case .cancel(let number): return .cancel(ClientHandle(number))
        case .publish(let number, let isAcknowledged):
            return begin(number, .publication).map {
                .publish($0, topic: "com.chat", .none, PublishOptions(isAcknowledged: isAcknowledged, patience: .seconds(2)))
            }
        case .listen(let number, let topic, let wantsRetained, let history):
            let options = SubscribeOptions(wantsRetained: wantsRetained, historyAfterGap: history)
            let patience: Duration? = number % 5 == 0 ? nil : .seconds(4)
            return begin(number, .listener).map { .subscribe($0, TopicKey(topic), options, patience: patience) }
        case .unsubscribe(let number): return end(byApp: number, .listener).map { .unsubscribe($0) }
        case .offer(let number, let uri):
            let patience: Duration? = number % 5 == 0 ? nil : .seconds(4)
            return begin(number, .procedure).map {
                .register($0, procedure: uri, RegisterOptions(takeoverPatience: .seconds(6)), patience: patience)
            }
        case .unregister(let number): return end(byApp: number, .procedure).map { .unregister($0) }
        case .accept(let place): return takeRequest(place).flatMap { accept($0) }.map { .received($0) }
        case .refuse(let place, let uri): return takeRequest(place).flatMap { refuse($0, uri) }.map { .received($0) }
        case .progress:
            let call = open.first { if case .call = $0.message { true } else { false } }
            return call.map { .received(.aResult($0.id, .none, ["progress": true])) }
        case .event(let place, let isRetained):
            nextGrant += 1
            guard subscriptions.indices.contains(place) else { return nil }
            return .received(.anEvent(subscriptions[place].id, nextGrant, isRetained ? ["retained": true] : [:]))
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
                .anInvocation(nextGrant, registrations[place].id, isOpen ? ["progress": true, "receive_progress": true] : [:]))
        case .interrupt(let place):
            let ids = unanswered.sorted()
            return ids.indices.contains(place) ? .received(.interrupt(request: ids[place], options: [:])) : nil
        case .yield(let place, let isFinal):
            guard invocations.indices.contains(place) else { return nil }
            return .yield(isFinal ? invocations.remove(at: place) : invocations[place], .none, isFinal: isFinal)
        case .fail(let place):
            return invocations.indices.contains(place) ? .fail(invocations.remove(at: place), uri: "com.acme.wrong", .none) : nil
        case .goodbye: return .received(.goodbye(details: [:], reason: "wamp.close.normal", .none))
        case .abort(let reason): return .received(.abort(details: [:], reason: reason, .none))
        case .leave: return .leave(reason: "wamp.close.close_realm")
        case .nonsense(let message): return isNonsense(message) ? .received(message) : nil
        }
    }

    /// A handle that is new; nil if it was used.
    private mutating func begin(_ number: UInt64, _ kind: Kind) -> ClientHandle? {
        let handle = ClientHandle(number)
        guard used.insert(handle).inserted else { return nil }
        live[handle] = kind
        return handle
    }
    private mutating func end(byApp number: UInt64, _ kind: Kind) -> ClientHandle? {
        let handle = ClientHandle(number)
        guard live[handle] == kind else { return nil }
        live[handle] = nil
        return handle
    }
    private mutating func endSession() {
        (hasJoined, lastID, open, subscriptions, registrations, unanswered) = (false, 0, [], [], [], [])
    }

    // MARK: The router

    private mutating func takeRequest(_ place: Int) -> Request? {
        hasJoined && open.indices.contains(place) ? open.remove(at: place) : nil
    }
    /// Whether a message answers nothing that is open, and takes away nothing that stands.
    private func isNonsense(_ message: WAMPMessage) -> Bool {
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
    private mutating func accept(_ request: Request) -> WAMPMessage? {
        nextGrant += 1
        switch request.message {
        case .call(_, _, "wamp.subscription.get_events", _):
            return .aResult(request.id, WAMPArguments([[["publication": Value(nextGrant)], ["publication": Value(nextGrant - 1)]]]))
        case .call: return .aResult(request.id)
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
    private func refuse(_ request: Request, _ uri: String) -> WAMPMessage? {
        WAMPRequestKind(rawValue: request.message.type).map { .aRefusal($0, request.id, uri) }
    }

    // MARK: What is made of it

    private mutating func judge(_ effect: ClientEffect) {
        switch effect {
        case .send(let message): judge(message)
        case .prove, .check: expect(false, "nobody asked for a proof")
        case .drop(let ending):
            expect(!hasJoined, "who is told to end the connection is told before that the session is over")
            if ending.isFinal { isOver = true }
            isSilenced = true
            endSession()
        case .news(let news): judge(news)
        }
    }

    private mutating func judge(_ message: WAMPMessage) {
        expect(isOpen && !isSilenced, "nothing is sent without a connection: \(message)")
        switch message {
        case .hello: expect(lastID == 0 && !hasJoined, "HELLO is first")
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

    private mutating func note(_ id: WAMPID, _ message: WAMPMessage) {
        expect(hasJoined, "requests are sent within a session")
        expect(id == lastID + 1, "the numbers go up by one")
        lastID = id
        if case .publish(_, let options, _, _) = message, options["acknowledge"] == nil { return }
        open.append(Request(id: id, message: message))
    }

    private func isUnderWay(_ key: TopicKey) -> Bool {
        open.contains { request in
            switch request.message {
            case .subscribe(_, let options, let topic):
                TopicKey(topic, match: options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact) == key
            case .unsubscribe(_, let subscription): subscriptions.contains { $0.id == subscription && $0.key == key }
            default: false
            }
        }
    }

    private mutating func judge(_ news: ClientNews) {
        switch news {
        case .joined:
            expect(!hasJoined, "a session is joined once")
            hasJoined = true
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

    private mutating func check(at now: Moment) {
        if machine.phase == .over || machine.phase == .leaving { expect(live.isEmpty, "what is over has ended: \(live)") }
        if live.isEmpty, machine.phase == .apart || machine.phase == .over { expect(machine.deadline == nil, "nothing waits") }
        if !live.isEmpty, !hasJoined, machine.phase == .apart {
            let waits = live.contains { $0.value == .call || $0.value == .publication || !told.contains($0.key) && $0.value == .listener }
            if waits { expect(machine.deadline != nil, "what waits has a deadline") }
        }
    }

    private mutating func expect(_ fact: Bool, _ promise: String) { if !fact, fault == nil { fault = promise } }
}
