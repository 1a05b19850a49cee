import CodecCore
import WAMPCore

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
