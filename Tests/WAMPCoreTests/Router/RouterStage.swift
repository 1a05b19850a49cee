import CodecCore
import MachineCore
import Testing

@testable import WAMPCore

/// A router with clients, and the messages that each client received.
struct RouterStage {
    var router: RouterMachine
    private(set) var now = Moment.start
    private var said: [RouterConnection: [WAMPMessage]] = [:]
    private(set) var closed: [RouterConnection: RouterClosing] = [:]
    private(set) var news: [RouterNews] = []
    /// The clients in authentication, with their credentials.
    private(set) var examined: [(connection: RouterConnection, credentials: RouterCredentials)] = []
    /// How many messages were sent to several receivers at once.
    private(set) var fanOuts: [[RouterConnection]] = []
    private var opened: UInt64 = 0
    private var requests: [RouterConnection: WAMPID] = [:]

    init(_ policy: RouterPolicy = RouterPolicy(), seed: UInt64 = 1) { router = RouterMachine(policy: policy, seed: seed) }

    // MARK: Inputs

    mutating func give(_ inputs: RouterInput...) {
        for input in inputs { drive { $0.handle(input, at: $1, into: &$2) } }
    }

    mutating func drive(_ body: (inout RouterMachine, Moment, inout [RouterEffect]) -> Void) {
        var effects: [RouterEffect] = []
        body(&router, now, &effects)
        carryOut(effects)
    }

    /// Lets time pass and wakes the router at each deadline.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = router.deadline, deadline <= end {
            now = max(now, deadline)
            var effects: [RouterEffect] = []
            router.wake(at: now, into: &effects)
            carryOut(effects)
        }
        now = end
    }

    private mutating func carryOut(_ effects: [RouterEffect]) {
        for effect in effects {
            switch effect {
            case .send(let message, let connection): said[connection, default: []].append(message)
            case .sendToAll(let message, let connections):
                for connection in connections { said[connection, default: []].append(message) }
                fanOuts.append(connections)
            case .examine(let connection, let credentials): examined.append((connection, credentials))
            case .close(let connection, let closing): closed[connection] = closing
            case .news(let news): self.news.append(news)
            }
        }
    }

    // MARK: Clients

    static let roles: Value = [
        "publisher": [:], "subscriber": ["features": ["subscription_revocation": true]], "caller": [:],
        "callee": ["features": ["call_canceling": true]],
    ]

    mutating func open(from address: String? = nil) -> RouterConnection {
        opened += 1
        give(.opened(RouterConnection(opened), transport: ["type": "memory"], address: address))
        return RouterConnection(opened)
    }

    /// A client that has joined, without the messages received until then.
    mutating func join(
        _ realm: String = "realm1", as name: String? = nil, role: String = "anonymous", by method: String = "anonymous",
        from address: String? = nil, roles: Value = Self.roles
    ) -> RouterConnection {
        let connection = open(from: address)
        give(.received(connection, .hello(realm: realm, details: ["roles": roles])))
        give(.examined(connection, .accepted(RouterPrincipal(authID: name, authRole: role, authMethod: method))))
        said[connection] = nil
        return connection
    }

    func session(of connection: RouterConnection) throws -> WAMPID {
        try #require(router.peers[connection]?.session?.participant.session)
    }

    /// The messages that a client received since the last call.
    mutating func received(_ connection: RouterConnection) -> [WAMPMessage] { said.removeValue(forKey: connection) ?? [] }

    /// The id of a client's next request.
    mutating func next(_ connection: RouterConnection) -> WAMPID {
        requests[connection, default: 0] += 1
        return requests[connection, default: 0]
    }

    mutating func send(_ message: WAMPMessage, from connection: RouterConnection) { give(.received(connection, message)) }

    /// Subscribes and returns the id of the subscription.
    mutating func subscribe(_ connection: RouterConnection, _ uri: String, _ options: ValueMap = [:]) throws -> WAMPID {
        let request = next(connection)
        let before = said[connection] ?? []
        send(.subscribe(request: request, options: options, topic: uri), from: connection)
        let answer = try #require(said[connection]?.dropFirst(before.count).first)
        guard case .subscribed(request, let id) = answer else { throw Surprise(message: answer) }
        said[connection]?.remove(at: before.count)
        return id
    }

    mutating func unsubscribe(_ connection: RouterConnection, _ id: WAMPID) {
        let request = next(connection)
        send(.unsubscribe(request: request, subscription: id), from: connection)
    }

    mutating func publish(_ connection: RouterConnection, _ topic: String, _ options: ValueMap = [:], _ list: Value...) {
        let request = next(connection)
        send(.publish(request: request, options: options, topic: topic, WAMPArguments(list)), from: connection)
    }

    /// The events that a client received since the last call; other messages are discarded.
    mutating func events(_ connection: RouterConnection) throws -> [Event] {
        try received(connection).compactMap {
            guard case .event(let subscription, let publication, let details, let arguments) = $0 else { return nil }
            return Event(subscription: subscription, publication: publication, details: details, list: try arguments.list)
        }
    }

    struct Event: Hashable {
        let subscription: WAMPID
        let publication: WAMPID
        let details: ValueMap
        let list: [Value]
    }

    struct Surprise: Error { let message: WAMPMessage }
}

extension WAMPMessage {
    /// The URI of an ERROR, ABORT or GOODBYE.
    var reason: String? {
        switch self {
        case .error(_, _, _, let uri, _), .abort(_, let uri, _), .goodbye(_, let uri, _): uri
        default: nil
        }
    }
}
