import CodecCore

/// The procedures of the router itself.
///
/// Source: WAMP, "Meta API", "Session Testament" and "Event History".
enum MetaProcedure: String, CaseIterable {
    case sessionCount = "wamp.session.count"
    case sessionList = "wamp.session.list"
    case sessionGet = "wamp.session.get"
    case sessionKill = "wamp.session.kill"
    case sessionKillByAuthID = "wamp.session.kill_by_authid"
    case sessionKillByAuthRole = "wamp.session.kill_by_authrole"
    case sessionKillAll = "wamp.session.kill_all"
    case addTestament = "wamp.session.add_testament"
    case flushTestaments = "wamp.session.flush_testaments"

    case registrationList = "wamp.registration.list"
    case registrationLookup = "wamp.registration.lookup"
    case registrationMatch = "wamp.registration.match"
    case registrationGet = "wamp.registration.get"
    case registrationListCallees = "wamp.registration.list_callees"
    case registrationCountCallees = "wamp.registration.count_callees"

    case subscriptionList = "wamp.subscription.list"
    case subscriptionLookup = "wamp.subscription.lookup"
    case subscriptionMatch = "wamp.subscription.match"
    case subscriptionGet = "wamp.subscription.get"
    case subscriptionListSubscribers = "wamp.subscription.list_subscribers"
    case subscriptionCountSubscribers = "wamp.subscription.count_subscribers"
    case subscriptionGetEvents = "wamp.subscription.get_events"

    /// Whether the procedure ends other sessions.
    var kills: Bool { rawValue.hasPrefix("wamp.session.kill") }
}

/// Why the router refuses a call of one of its own procedures.
struct MetaRefusal: Error, Hashable {
    let uri: String
    /// A description for people.
    let words: String

    init(_ uri: String, _ words: String) { (self.uri, self.words) = (uri, words) }

    static func argument(_ words: String) -> MetaRefusal { MetaRefusal(WAMPURI.Error.invalidArgument, words) }
}

/// An event about the router itself, published to its subscribers.
///
/// Source: WAMP, "Meta API".
enum MetaEvent: Hashable, Sendable {
    /// A session has joined: `session`, `authid`, `authrole`, `authmethod`, `authprovider`, `transport`.
    case joined(details: ValueMap)
    case left(session: WAMPID, authID: String, authRole: String)
    /// With `id`, `created`, `uri`, `match`, `invoke`.
    case registrationCreated(by: WAMPID, details: ValueMap)
    case registered(WAMPID, registration: WAMPID)
    case unregistered(WAMPID, registration: WAMPID)
    case registrationDeleted(by: WAMPID, registration: WAMPID)
    /// With `id`, `created`, `uri`, `match`.
    case subscriptionCreated(by: WAMPID, details: ValueMap)
    case subscribed(WAMPID, subscription: WAMPID)
    case unsubscribed(WAMPID, subscription: WAMPID)
    case subscriptionDeleted(by: WAMPID, subscription: WAMPID)

    /// The topic of the event.
    var topic: String {
        switch self {
        case .joined: "wamp.session.on_join"
        case .left: "wamp.session.on_leave"
        case .registrationCreated: "wamp.registration.on_create"
        case .registered: "wamp.registration.on_register"
        case .unregistered: "wamp.registration.on_unregister"
        case .registrationDeleted: "wamp.registration.on_delete"
        case .subscriptionCreated: "wamp.subscription.on_create"
        case .subscribed: "wamp.subscription.on_subscribe"
        case .unsubscribed: "wamp.subscription.on_unsubscribe"
        case .subscriptionDeleted: "wamp.subscription.on_delete"
        }
    }

    /// The arguments of the event.
    var arguments: WAMPArguments {
        switch self {
        case .joined(let details): WAMPArguments([.map(details)])
        case .left(let session, let authID, let authRole): WAMPArguments([Value(session), .text(authID), .text(authRole)])
        case .registrationCreated(let session, let details), .subscriptionCreated(let session, let details):
            WAMPArguments([Value(session), .map(details)])
        case .registered(let session, let id), .unregistered(let session, let id), .registrationDeleted(let session, let id),
            .subscribed(let session, let id), .unsubscribed(let session, let id), .subscriptionDeleted(let session, let id):
            WAMPArguments([Value(session), Value(id)])
        }
    }
}

/// The arguments of a call to a procedure of the router itself.
struct MetaCall {
    /// The maximum number of IDs or events in an answer; a longer list is cut off.
    static let listLimit = 10_000
    /// The approximate maximum of event bytes in an answer, unless a single event is longer; more events are cut off.
    static let eventBytes = 512 * 1024

    let list: [Value]
    let keywords: ValueMap

    /// - Parameter carriesEvent: Whether the arguments after the first belong to an event, so that they are not compared.
    init(_ arguments: WAMPArguments, carriesEvent: Bool = false) throws(MetaRefusal) {
        do throws(CodecError) { (list, keywords) = (try arguments.list, try arguments.keywords) } catch {
            throw .argument("the arguments cannot be read")
        }
        let compared = carriesEvent ? list.prefix(1) : list[...]
        guard compared.allSatisfy(\.isQuickToCompare), keywords.isQuickToCompare else { throw .argument("a text is too long") }
    }

    /// Returns the argument at an index; nil if it is missing or null.
    subscript(place: Int) -> Value? {
        guard list.indices.contains(place), !list[place].isNull else { return nil }
        return list[place]
    }

    /// Returns a keyword argument; nil if it is missing or null.
    subscript(name: String) -> Value? { keywords[.text(name)].flatMap { $0.isNull ? Value?.none : $0 } }

    /// Returns the ID that is required as the first argument.
    func id() throws(MetaRefusal) -> WAMPID {
        guard let id = self[0].flatMap({ Self.id($0) }) else { throw .argument("the first argument must be an id") }
        return id
    }

    /// Returns the text that is required at an index.
    func text(_ place: Int, _ what: String) throws(MetaRefusal) -> String {
        guard let text = self[place]?.string else { throw .argument("argument \(place + 1) must be \(what)") }
        return text
    }

    /// Returns an optional keyword argument that is a text.
    func text(_ name: String) throws(MetaRefusal) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .argument("\(name) must be a text") }
        return text
    }

    /// Returns the roles that filter the answer; nil: all.
    func roles() throws(MetaRefusal) -> Set<String>? {
        guard let value = self[0] ?? self["filter_authroles"] else { return nil }
        guard let items = value.items else { throw .argument("the roles must be a list") }
        var roles: Set<String> = []
        for item in items {
            guard let role = item.string else { throw .argument("a role must be a text") }
            roles.insert(role)
        }
        return roles
    }

    /// Returns the match policy in the options of a lookup.
    func match() throws(MetaRefusal) -> WAMPMatch {
        guard let options = self[1] else { return .exact }
        guard let map = options.entries else { throw .argument("the options must be a map") }
        guard let word = map["match"] else { return .exact }
        guard let match = word.string.flatMap(WAMPMatch.init) else { throw .argument("unknown match policy") }
        return match
    }

    static func id(_ value: Value) -> WAMPID? { value.int.flatMap { WAMPID(exactly: $0) } }

    static func ids(_ ids: some Collection<WAMPID>) -> Value { .array(ids.prefix(listLimit).map { Value($0) }) }

    /// Returns the IDs of a realm's registrations or subscriptions by match policy.
    static func ids(of each: (WAMPMatch) -> [WAMPID]) -> Value {
        .map(ValueMap(WAMPMatch.allCases.map { ValueMap.Entry(key: .text($0.rawValue), value: ids(each($0))) }))
    }
}
