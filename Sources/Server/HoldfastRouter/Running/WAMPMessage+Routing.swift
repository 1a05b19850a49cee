import CodecCore
import MachineCore
import WAMPCore

extension WAMPMessage {
    /// What whoever runs a router may allow or not, of which URI, and whether that is a pattern.
    var request: (WAMPAction, uri: String, match: WAMPMatch)? {
        switch self {
        case .publish(_, _, let topic, _): (.publish, topic, .exact)
        case .subscribe(_, let options, let topic): (.subscribe, topic, Self.match(options))
        case .call(_, _, let procedure, _): (.call, procedure, .exact)
        case .register(_, let options, let procedure): (.register, procedure, Self.match(options))
        default: nil
        }
    }

    /// One that there is not is refused whatever is allowed.
    private static func match(_ options: ValueMap) -> WAMPMatch { options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact }

    /// The same, with or without telling who calls or publishes.
    func disclosing(_ isDisclosed: Bool) -> WAMPMessage {
        switch self {
        case .publish(let request, var options, let topic, let arguments):
            options["disclose_me"] = .bool(isDisclosed)
            return .publish(request: request, options: options, topic: topic, arguments)
        case .call(let request, var options, let procedure, let arguments):
            options["disclose_me"] = .bool(isDisclosed)
            return .call(request: request, options: options, procedure: procedure, arguments)
        default: return self
        }
    }

    /// Whether it tells a client if it has joined: the router's own words, which carry nothing of others.
    var isOfJoining: Bool {
        switch self {
        case .welcome, .challenge, .abort: true
        default: false
        }
    }

    /// Where the testament goes that this leaves with the router.
    var testamentTopic: String? {
        guard case .call(_, _, "wamp.session.add_testament", let arguments) = self else { return nil }
        return (try? arguments.list)?.first?.string
    }

    /// The subscription of which this asks the last events.
    var historyID: WAMPID? {
        guard case .call(_, _, "wamp.subscription.get_events", let arguments) = self else { return nil }
        return (try? arguments.list)?.first?.int.flatMap { WAMPID(exactly: $0) }
    }

    /// The same testament, with or without telling who published it.
    func disclosingTestament(_ isDisclosed: Bool) -> WAMPMessage {
        guard case .call(let request, let options, let procedure, let arguments) = self, let list = try? arguments.list,
            var keywords = try? arguments.keywords
        else { return self }
        // Options of another type are refused by the router itself.
        let wished = keywords["publish_options"] ?? .null
        guard var publishing = wished.isNull ? ValueMap() : wished.entries else { return self }
        publishing["disclose_me"] = .bool(isDisclosed)
        keywords["publish_options"] = .map(publishing)
        return .call(request: request, options: options, procedure: procedure, WAMPArguments(list, keywords: keywords))
    }
}

/// The calls of which a part could not be sent to a client, until the router's machine knows.
struct LostExchanges {
    private enum Exchange: Hashable {
        case invocation(WAMPID)
        case call(WAMPID)
    }
    private var exchanges: Set<Exchange> = []

    var isEmpty: Bool { exchanges.isEmpty }

    /// This could not be sent.
    mutating func note(_ message: WAMPMessage) { if let exchange = Self.exchange(of: message) { exchanges.insert(exchange) } }

    /// Whether a message is of such a call.
    func concerns(_ message: WAMPMessage) -> Bool { Self.exchange(of: message).map { exchanges.contains($0) } ?? false }

    /// What comes after this is of another call.
    mutating func goOn(_ message: WAMPMessage) { if let exchange = Self.exchange(of: message) { exchanges.remove(exchange) } }

    /// An ERROR ends a call whatever came before it.
    private static func exchange(of message: WAMPMessage) -> Exchange? {
        switch message {
        case .invocation(let request, _, _, _): .invocation(request)
        case .result(let request, _, _): .call(request)
        default: nil
        }
    }
}

extension WAMPMessage {
    /// Whether it is a part of a result.
    var isPart: Bool {
        if case .result(_, let details, _) = self { details["progress"]?.bool == true } else { false }
    }

    /// What it is to its receiver, if somebody else is the cause of it.
    var kind: Backlog.Kind {
        switch self {
        case .event: .event
        case .invocation, .interrupt, .result: .exchange
        case .error(_, _, _, _, let arguments): arguments.isEmpty ? .own : .exchange
        default: .own
        }
    }

    /// A call that ends with an error of the router's own.
    static func failed(_ request: WAMPID, _ reason: String) -> WAMPMessage {
        .error(.call, request: request, details: ValueMap(), uri: reason, .none)
    }
}

// See ``RouterPolicy/Quirks/writesPlainBase64``.
extension WAMPMessage {
    /// The same with texts of Base64 where it carries bytes; what came as JSON holds none.
    var withPlainBase64: WAMPMessage {
        switch self {
        case .event(let subscription, let publication, let details, let arguments):
            .event(subscription: subscription, publication: publication, details: details, arguments.withPlainBase64)
        case .invocation(let request, let registration, let details, let arguments):
            .invocation(request: request, registration: registration, details: details, arguments.withPlainBase64)
        case .result(let request, let details, let arguments): .result(request: request, details: details, arguments.withPlainBase64)
        case .error(let kind, let request, let details, let uri, let arguments):
            .error(kind, request: request, details: details, uri: uri, arguments.withPlainBase64)
        default: self
        }
    }
}

extension WAMPArguments {
    fileprivate var withPlainBase64: WAMPArguments {
        guard rawSerialization != .json, let list = try? list, let keywords = try? keywords else { return self }
        return WAMPArguments(list.map(\.withPlainBase64), keywords: keywords.withPlainBase64)
    }
}

extension ValueMap {
    fileprivate var withPlainBase64: ValueMap {
        ValueMap(entries.map { ValueMap.Entry(key: $0.key, value: $0.value.withPlainBase64) })
    }
}

extension Value {
    fileprivate var withPlainBase64: Value {
        switch self {
        case .bytes(let bytes): .text(Base64.text(bytes))
        case .array(let items): .array(items.map(\.withPlainBase64))
        case .map(let map): .map(map.withPlainBase64)
        default: self
        }
    }
}
