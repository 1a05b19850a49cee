import CodecCore
import MachineCore
import WAMPCore

extension WAMPMessage {
    /// The action that the authorization must allow, with its URI and match policy; nil if it needs no authorization.
    var request: (WAMPAction, uri: String, match: WAMPMatch)? {
        switch self {
        case .publish(_, _, let topic, _): (.publish, topic, .exact)
        case .subscribe(_, let options, let topic): (.subscribe, topic, Self.match(options))
        case .call(_, _, let procedure, _): (.call, procedure, .exact)
        case .register(_, let options, let procedure): (.register, procedure, Self.match(options))
        default: nil
        }
    }

    /// An unknown match policy is refused in any case.
    private static func match(_ options: ValueMap) -> WAMPMatch { options["match"]?.string.flatMap(WAMPMatch.init) ?? .exact }

    /// Returns the message with or without disclosing the caller or publisher.
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

    /// Whether it belongs to the join handshake: the router's own messages, without content from others.
    var isOfJoining: Bool {
        switch self {
        case .welcome, .challenge, .abort: true
        default: false
        }
    }

    /// The topic of the testament that this call adds; nil for other messages.
    var testamentTopic: String? {
        guard case .call(_, _, "wamp.session.add_testament", let arguments) = self else { return nil }
        return (try? arguments.list)?.first?.string
    }

    /// The subscription whose last events this call requests; nil for other messages.
    var historyID: WAMPID? {
        guard case .call(_, _, "wamp.subscription.get_events", let arguments) = self else { return nil }
        return (try? arguments.list)?.first?.int.flatMap { WAMPID(exactly: $0) }
    }

    /// Returns the testament with or without disclosing its publisher.
    func disclosingTestament(_ isDisclosed: Bool) -> WAMPMessage {
        guard case .call(let request, let options, let procedure, let arguments) = self, let list = try? arguments.list,
            var keywords = try? arguments.keywords
        else { return self }
        // The router itself refuses options of another type.
        let wished = keywords["publish_options"] ?? .null
        guard var publishing = wished.isNull ? ValueMap() : wished.entries else { return self }
        publishing["disclose_me"] = .bool(isDisclosed)
        keywords["publish_options"] = .map(publishing)
        return .call(request: request, options: options, procedure: procedure, WAMPArguments(list, keywords: keywords))
    }
}

/// The calls with a part that could not be sent to a client, until the router's machine knows.
struct LostExchanges {
    private enum Exchange: Hashable {
        case invocation(WAMPID)
        case call(WAMPID)
    }
    private var exchanges: Set<Exchange> = []

    var isEmpty: Bool { exchanges.isEmpty }

    /// Notes that this message could not be sent.
    mutating func note(_ message: WAMPMessage) { if let exchange = Self.exchange(of: message) { exchanges.insert(exchange) } }

    /// Returns whether a message belongs to such a call.
    func concerns(_ message: WAMPMessage) -> Bool { Self.exchange(of: message).map { exchanges.contains($0) } ?? false }

    /// Notes that later messages with this id belong to another call.
    mutating func goOn(_ message: WAMPMessage) { if let exchange = Self.exchange(of: message) { exchanges.remove(exchange) } }

    /// Returns the call of a message; nil for an ERROR, which always ends its call.
    private static func exchange(of message: WAMPMessage) -> Exchange? {
        switch message {
        case .invocation(let request, _, _, _): .invocation(request)
        case .result(let request, _, _): .call(request)
        default: nil
        }
    }
}

extension WAMPMessage {
    /// Whether it is a partial result.
    var isPart: Bool {
        if case .result(_, let details, _) = self { details["progress"]?.bool == true } else { false }
    }

    /// The kind of queue entry that it is for its receiver, if another client caused it.
    var kind: Backlog.Kind {
        switch self {
        case .event: .event
        case .invocation, .interrupt, .result: .exchange
        case .error(_, _, _, _, let arguments): arguments.isEmpty ? .own : .exchange
        default: .own
        }
    }

    /// Returns the message that ends a call with an error of the router itself.
    static func failed(_ request: WAMPID, _ reason: String) -> WAMPMessage {
        .error(.call, request: request, details: ValueMap(), uri: reason, .none)
    }
}

// See ``RouterPolicy/Quirks/writesPlainBase64``.
extension WAMPMessage {
    /// The message with bytes replaced by Base64 texts.
    ///
    /// Messages received as JSON contain no bytes.
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
