import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// A router with joined clients that count their requests.
struct MetaStage {
    var router: RouterMachine
    var now = Moment.start
    private(set) var sessions: [RouterConnection: WAMPID] = [:]
    private var requests: [RouterConnection: WAMPID] = [:]

    init(_ change: (inout RouterPolicy) -> Void = { _ in }) {
        var policy = RouterPolicy(allowsKilling: true)
        change(&policy)
        router = RouterMachine(policy: policy, seed: 11)
    }

    mutating func put(_ input: RouterInput) -> [RouterEffect] {
        var effects: [RouterEffect] = []
        router.handle(input, at: now, into: &effects)
        for case .send(.welcome(let session, _), let connection) in effects { sessions[connection] = session }
        return effects
    }

    /// A joined client.
    mutating func join(_ number: UInt64, as role: String = "user", realm: String = "realm") -> Client {
        let client = Client(connection: RouterConnection(number))
        _ = put(.opened(client.connection, transport: ["peer": .text("memory")]))
        let feature: Value = ["features": ["call_canceling": true, "progressive_call_invocations": true]]
        let roles: Value = ["caller": feature, "callee": feature, "subscriber": [:], "publisher": [:]]
        _ = put(.received(client.connection, .hello(realm: realm, details: ["roles": roles])))
        _ = put(.examined(client.connection, .accepted(RouterPrincipal(authID: "name\(number)", authRole: role))))
        return client
    }

    struct Client: Hashable { let connection: RouterConnection }

    func session(_ client: Client) -> WAMPID { sessions[client.connection] ?? 0 }

    /// The session id as a value.
    func id(_ client: Client) -> Value { Value(session(client)) }

    mutating func send(_ client: Client, _ message: (WAMPID) -> WAMPMessage) -> [RouterEffect] {
        requests[client.connection, default: 0] += 1
        return put(.received(client.connection, message(requests[client.connection] ?? 0)))
    }

    mutating func subscribe(_ topic: String, _ options: ValueMap = [:], by client: Client) -> WAMPID {
        for case .send(.subscribed(_, let id), client.connection) in send(
            client, { .subscribe(request: $0, options: options, topic: topic) })
        { return id }
        return 0
    }

    mutating func register(_ procedure: String, _ options: ValueMap = [:], by client: Client) -> WAMPID {
        for case .send(.registered(_, let id), client.connection) in send(
            client, { .register(request: $0, options: options, procedure: procedure) })
        { return id }
        return 0
    }

    mutating func publish(
        _ topic: String, _ arguments: WAMPArguments = .none, _ options: ValueMap = [:], by client: Client
    ) -> [RouterEffect] {
        send(client) { .publish(request: $0, options: options, topic: topic, arguments) }
    }

    /// The answer of a meta procedure, and all effects of the call.
    mutating func call(
        _ procedure: String, _ list: [Value] = [], _ keywords: ValueMap = [:], by client: Client
    ) -> (answer: Answer?, effects: [RouterEffect]) {
        let effects = send(client) {
            .call(request: $0, options: [:], procedure: procedure, WAMPArguments(list, keywords: keywords))
        }
        for effect in effects {
            switch effect {
            case .send(.result(_, _, let arguments), client.connection): return ((try? arguments.list).map { .result($0) }, effects)
            case .send(.error(.call, _, _, let uri, _), client.connection): return (.error(uri), effects)
            default: break
            }
        }
        return (nil, effects)
    }

    /// The answer of a meta procedure.
    mutating func ask(_ procedure: String, _ list: [Value] = [], _ keywords: ValueMap = [:], by client: Client) -> Answer? {
        call(procedure, list, keywords, by: client).answer
    }

    enum Answer: Hashable {
        case result([Value])
        case error(String)
    }
}

extension [RouterEffect] {
    /// The arguments of the events of a subscription, in order.
    func events(of subscription: WAMPID) -> [[Value]?] {
        compactMap { effect in
            switch effect {
            case .send(.event(subscription, _, _, let arguments), _): try? arguments.list
            case .sendToAll(.event(subscription, _, _, let arguments), _): try? arguments.list
            default: nil
            }
        }
    }
}
