import CodecCore
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
