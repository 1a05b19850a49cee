import CodecCore
import MachineCore
import ProtocolCore
import Testing

@testable public import WAMPCore

/// A client machine with inputs by hand; the test looks at the effects.
struct ClientBench {
    var machine: ClientMachine
    var now = Moment.start
    private var effects: [ClientEffect] = []

    static let everything: ValueMap = [
        "roles": [
            "broker": ["features": ["pattern_based_subscription": true, "event_history": true]],
            "dealer": [
                "features": [
                    "call_canceling": true, "call_timeout": true, "progressive_call_results": true, "progressive_call_invocations": true,
                    "pattern_based_registration": true, "shared_registration": true,
                ]
            ],
        ]
    ]
    /// A router that announces no feature.
    static let nothing: ValueMap = ["roles": ["broker": [:], "dealer": [:]]]

    init(policy: ClientPolicy = ClientPolicy(realm: "realm1"), seed: UInt64 = 1) { machine = ClientMachine(policy: policy, seed: seed) }

    /// A client that has joined, without the effects of joining.
    static func joined(_ details: ValueMap = everything, policy: ClientPolicy = ClientPolicy(realm: "realm1")) -> ClientBench {
        var bench = ClientBench(policy: policy)
        bench.join(details)
        _ = bench.look()
        return bench
    }

    mutating func handle(_ inputs: ClientInput...) { for input in inputs { machine.handle(input, at: now, into: &effects) } }

    mutating func handle(_ commands: ClientCommand...) { for command in commands { handle(.command(command)) } }

    mutating func receive(_ messages: WAMPMessage...) { for message in messages { handle(.received(message)) } }

    mutating func join(_ details: ValueMap = everything) {
        handle(.open)
        receive(.welcome(session: 9, details: details))
    }

    /// Loses the connection and joins again on a new one.
    mutating func rejoin(_ details: ValueMap = everything) {
        handle(.lost)
        join(details)
    }

    /// Lets time pass and wakes the client at each deadline.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let next = machine.deadline, next <= end {
            now = max(now, next)
            machine.wake(at: now, into: &effects)
        }
        now = end
    }

    /// All effects since the last look, without those that end a connection: the reason implies them.
    mutating func look() -> [ClientEffect] {
        defer { effects = [] }
        for (place, effect) in effects.enumerated() {
            guard case .event(.ended(let ending)) = effect else { continue }
            #expect(effects.dropFirst(place + 1).first == .end(ending.connectionEnd))
        }
        let (ends, reasons) = (effects.count { if case .end = $0 { true } else { false } }, effects.count(where: \.isReason))
        #expect(ends == reasons, "each connection ends with a reason")
        return effects.filter { if case .end = $0 { false } else { true } }
    }

    /// The messages sent since the last look; other effects are discarded.
    mutating func sent() -> [WAMPMessage] { look().compactMap { if case .send(let message) = $0 { message } else { nil } } }

    /// The news since the last look; other effects are discarded.
    mutating func news() -> [ClientNews] { look().compactMap { if case .event(let news) = $0 { news } else { nil } } }
}

extension ClientHandle: ExpressibleByIntegerLiteral {
    /// A handle with this number.
    public init(integerLiteral value: UInt64) { self.init(value) }
}

extension ClientEffect {
    /// The effect that sends a call.
    static func call(
        _ id: WAMPID, _ options: ValueMap = [:], _ procedure: String = "com.add", _ arguments: WAMPArguments = .none
    ) -> ClientEffect {
        .send(.call(request: id, options: options, procedure: procedure, arguments))
    }
    static func cancel(_ id: WAMPID, _ mode: String = "killnowait") -> ClientEffect {
        .send(.cancel(request: id, options: ["mode": .text(mode)]))
    }
    static func subscribe(_ id: WAMPID, _ topic: String = "com.chat", _ options: ValueMap = [:]) -> ClientEffect {
        .send(.subscribe(request: id, options: options, topic: topic))
    }
    static func unsubscribe(_ id: WAMPID, _ subscription: WAMPID) -> ClientEffect {
        .send(.unsubscribe(request: id, subscription: subscription))
    }
    static func register(_ id: WAMPID, _ procedure: String = "com.add", _ options: ValueMap = [:]) -> ClientEffect {
        .send(.register(request: id, options: options, procedure: procedure))
    }
    static func unregister(_ id: WAMPID, _ registration: WAMPID) -> ClientEffect {
        .send(.unregister(request: id, registration: registration))
    }
    static func failed(_ handle: ClientHandle, _ failure: ClientFailure) -> ClientEffect { .event(.failed(handle, failure)) }
    static func result(
        _ handle: ClientHandle, _ arguments: WAMPArguments = .none, details: ValueMap = [:], isFinal: Bool = true
    ) -> ClientEffect {
        .event(.result(handle, details: details, arguments, isFinal: isFinal))
    }
    static func event(_ listeners: [ClientHandle], _ subscription: WAMPID, _ publication: WAMPID, _ details: ValueMap = [:]) -> ClientEffect
    {
        .event(.event(listeners, subscription: subscription, publication: publication, details: details, .none))
    }
    static func subscribed(_ handle: ClientHandle, _ subscription: WAMPID) -> ClientEffect {
        .event(.subscribed(handle, subscription: subscription))
    }
    static func registered(_ handle: ClientHandle, _ registration: WAMPID) -> ClientEffect {
        .event(.registered(handle, registration: registration))
    }
    static func gap(_ listeners: [ClientHandle], _ gap: ClientGap) -> ClientEffect { .event(.gap(listeners, gap)) }
    static func drop(_ ending: ClientEnding) -> ClientEffect { .event(.ended(ending)) }
    static func violation(_ description: String) -> [ClientEffect] {
        [
            .send(.abort(details: ["message": .text(description)], reason: "wamp.error.protocol_violation", .none)),
            .event(.parted), .drop(.violation(description)),
        ]
    }
}

extension ClientEffect {
    fileprivate var isReason: Bool { if case .event(.ended) = self { true } else { false } }
}

extension ClientInput {
    static var open: ClientInput { .opened([:]) }
    /// The connection is lost after every message has left.
    static var lost: ClientInput { .lost(unsent: []) }
}

extension ClientCommand {
    static func call(_ handle: ClientHandle, _ options: CallOptions = CallOptions()) -> ClientCommand {
        .call(handle, procedure: "com.add", .none, options)
    }
    static func listen(
        _ handle: ClientHandle, _ topic: String = "com.chat", _ options: SubscribeOptions = SubscribeOptions()
    ) -> ClientCommand {
        .subscribe(handle, TopicKey(topic), options, patience: .seconds(10))
    }
    static func offer(
        _ handle: ClientHandle, _ procedure: String = "com.add", _ options: RegisterOptions = RegisterOptions()
    ) -> ClientCommand {
        .register(handle, procedure: procedure, options, patience: .seconds(10))
    }
}

extension WAMPMessage {
    static func aRefusal(_ kind: WAMPRequestKind, _ request: WAMPID, _ uri: String) -> WAMPMessage {
        .error(kind, request: request, details: [:], uri: uri, .none)
    }
    static func anEvent(_ subscription: WAMPID, _ publication: WAMPID, _ details: ValueMap = [:]) -> WAMPMessage {
        .event(subscription: subscription, publication: publication, details: details, .none)
    }
    static func aResult(_ request: WAMPID, _ arguments: WAMPArguments = .none, _ details: ValueMap = [:]) -> WAMPMessage {
        .result(request: request, details: details, arguments)
    }
    static func anInvocation(_ request: WAMPID, _ registration: WAMPID, _ details: ValueMap = [:]) -> WAMPMessage {
        .invocation(request: request, registration: registration, details: details, .none)
    }
}
