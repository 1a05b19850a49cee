import CodecCore
import MachineCore
import ProtocolCore
import WAMPCore

// The actions of the apps.
extension SimWorld {
    static let topics = ["t.a", "t.b", "t.x.d", "u"]
    static let keys = [
        TopicKey("t.a"), TopicKey("t.b"), TopicKey("u"), TopicKey("t.", match: .prefix), TopicKey("t..d", match: .wildcard),
    ]
    static let procedures: [(uri: String, match: WAMPMatch, sharing: RegisterOptions.Sharing)] = [
        ("p.single", .exact, .single), ("p.shared", .exact, .roundRobin), ("p.random", .exact, .random), ("q.", .prefix, .single),
    ]
    static let callable = ["p.single", "p.shared", "p.random", "q.some", "q.other"]

    func act(_ client: SimClient) {
        guard !client.hasLeft else { return }
        switch jitter(22) {
        case 0..<5: call(client, oneIn(12) ? "p.none" : pick(Self.callable) ?? "", options())
        case 5..<9: publish(client, pick(Self.topics) ?? "")
        case 9: for _ in 0..<6 { publish(client, pick(Self.topics) ?? "") }
        case 10..<13: subscribe(client)
        case 13: unsubscribe(client, pick(client.listeners.keys.sorted()))
        case 14, 15: register(client)
        case 16: unregister(client, pick(client.procedures.keys.sorted()))
        case 17: cancel(client)
        case 18, 19: callInParts(client)
        default: addPart(client)
        }
    }

    private func options() -> CallOptions {
        CallOptions(
            timeout: oneIn(2) ? .milliseconds(50 + jitter(2500)) : nil, wantsProgress: oneIn(2),
            cancelMode: pick(CallOptions.CancelMode.allCases) ?? .skip,
            joinPatience: oneIn(4) ? nil : .milliseconds(100 + jitter(8000)))
    }

    func call(_ client: SimClient, _ uri: String, _ options: CallOptions) {
        count(.calls)
        let handle = newHandle()
        calls[Int64(handle)] = (client.number, uri)
        client.requests[handle] = SimClient.Request(isCall: true, wantsProgress: options.wantsProgress)
        let payload = SimPayload(id: Int64(handle), client: client.number, number: 0, uri: uri)
        drive(client) { $0.handle(.command(.call(ClientHandle(handle), procedure: uri, payload.arguments, options)), at: $1, into: &$2) }
    }

    private func callInParts(_ client: SimClient) {
        count(.calls)
        let (handle, uri, options) = (newHandle(), pick(Self.callable) ?? "", options())
        calls[Int64(handle)] = (client.number, uri)
        client.requests[handle] = SimClient.Request(isCall: true, wantsProgress: options.wantsProgress)
        client.inParts.append(handle)
        let payload = SimPayload(id: Int64(handle), client: client.number, number: 0, uri: uri)
        drive(client) {
            $0.handle(.command(.callInParts(ClientHandle(handle), procedure: uri, payload.arguments, options)), at: $1, into: &$2)
        }
    }

    /// Sends more input, perhaps of a call that has ended.
    private func addPart(_ client: SimClient) {
        guard let handle = pick(client.inParts) else { return }
        let isLast = oneIn(3)
        if isLast { client.inParts.removeAll { $0 == handle } }
        let payload = SimPayload(id: Int64(handle), client: client.number, number: 1, uri: "part")
        drive(client) { $0.handle(.command(.part(ClientHandle(handle), payload.arguments, isLast: isLast)), at: $1, into: &$2) }
    }

    private func cancel(_ client: SimClient) {
        guard let handle = pick(client.requests.keys.sorted()) else { return }
        count(.cancelled)
        drive(client) { $0.handle(.command(.cancel(ClientHandle(handle))), at: $1, into: &$2) }
    }

    func publish(_ client: SimClient, _ topic: String, isProbe: Bool = false) {
        count(.publications)
        let handle = newHandle()
        client.published += 1
        client.requests[handle] = SimClient.Request(isCall: false)
        let payload = SimPayload(id: Int64(handle), client: client.number, number: client.published, uri: topic)
        if isProbe { probes[payload.id] = topic }
        let options = PublishOptions(
            isAcknowledged: isProbe || oneIn(2), excludesMe: !isProbe && oneIn(2), isRetained: oneIn(6),
            patience: isProbe ? .seconds(5) : oneIn(3) ? nil : .milliseconds(100 + jitter(5000)))
        drive(client) { $0.handle(.command(.publish(ClientHandle(handle), topic: topic, payload.arguments, options)), at: $1, into: &$2) }
    }

    private func subscribe(_ client: SimClient) {
        guard client.listeners.count < 8, let key = pick(Self.keys) else { return }
        count(.listeners)
        let handle = newHandle()
        client.listeners[handle] = SimClient.TopicListener(key: key)
        let options = SubscribeOptions(wantsRetained: oneIn(4), historyAfterGap: oneIn(3) ? Int(jitter(20)) : 0)
        let patience: Duration? = oneIn(4) ? nil : .milliseconds(100 + jitter(20_000))
        drive(client) { $0.handle(.command(.subscribe(ClientHandle(handle), key, options, patience: patience)), at: $1, into: &$2) }
    }

    func unsubscribe(_ client: SimClient, _ handle: UInt64?) {
        guard let handle else { return }
        client.listeners[handle] = nil
        drive(client) { $0.handle(.command(.unsubscribe(ClientHandle(handle))), at: $1, into: &$2) }
    }

    private func register(_ client: SimClient) {
        if client.procedures.count < 4, let procedure = pick(Self.procedures) { register(client, procedure) }
    }

    func register(_ client: SimClient, _ procedure: (uri: String, match: WAMPMatch, sharing: RegisterOptions.Sharing)) {
        count(.procedures)
        let handle = newHandle()
        client.procedures[handle] = SimClient.Procedure(uri: procedure.uri)
        let options = RegisterOptions(match: procedure.match, sharing: procedure.sharing, takeoverPatience: .seconds(30))
        let patience: Duration? = oneIn(4) ? nil : .milliseconds(100 + jitter(20_000))
        drive(client) {
            $0.handle(.command(.register(ClientHandle(handle), procedure: procedure.uri, options, patience: patience)), at: $1, into: &$2)
        }
    }

    func unregister(_ client: SimClient, _ handle: UInt64?) {
        guard let handle else { return }
        client.procedures[handle] = nil
        drive(client) { $0.handle(.command(.unregister(ClientHandle(handle))), at: $1, into: &$2) }
    }
}
