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

    /// Whether it ends sessions of others.
    var kills: Bool { rawValue.hasPrefix("wamp.session.kill") }
}

/// Why the router itself does not do what it is called for.
struct MetaRefusal: Error, Hashable {
    let uri: String
    /// For people.
    let words: String

    init(_ uri: String, _ words: String) { (self.uri, self.words) = (uri, words) }

    static func argument(_ words: String) -> MetaRefusal { MetaRefusal(WAMPURI.Error.invalidArgument, words) }
}

/// What the router tells of itself to whoever subscribes.
///
/// Source: WAMP, "Meta API".
enum MetaEvent: Hashable, Sendable {
    /// Somebody has joined: `session`, `authid`, `authrole`, `authmethod`, `authprovider`, `transport`.
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

    /// Where it is published.
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

    /// What it carries.
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

/// What a procedure of the router itself is called with.
struct MetaCall {
    /// How many ids or events an answer has at most; of longer lists it has the first.
    static let listLimit = 10_000
    /// How many bytes of events an answer has, about, unless a single one is longer; of more it has the first.
    static let eventBytes = 512 * 1024

    let list: [Value]
    let keywords: ValueMap

    /// - Parameter carriesEvent: What follows the first argument is an event's, and nobody compares it.
    init(_ arguments: WAMPArguments, carriesEvent: Bool = false) throws(MetaRefusal) {
        do throws(CodecError) { (list, keywords) = (try arguments.list, try arguments.keywords) } catch {
            throw .argument("the arguments cannot be read")
        }
        let compared = carriesEvent ? list.prefix(1) : list[...]
        guard compared.allSatisfy(\.isQuickToCompare), keywords.isQuickToCompare else { throw .argument("a text is too long") }
    }

    /// An argument by its place; nil if it is missing, or null.
    subscript(place: Int) -> Value? {
        guard list.indices.contains(place), !list[place].isNull else { return nil }
        return list[place]
    }

    /// An argument by its name; nil if it is missing, or null.
    subscript(name: String) -> Value? { keywords[.text(name)].flatMap { $0.isNull ? Value?.none : $0 } }

    /// The id that has to come first.
    func id() throws(MetaRefusal) -> WAMPID {
        guard let id = self[0].flatMap({ Self.id($0) }) else { throw .argument("the first argument is an id") }
        return id
    }

    /// The text that has to stand at a place.
    func text(_ place: Int, _ what: String) throws(MetaRefusal) -> String {
        guard let text = self[place]?.string else { throw .argument("argument \(place + 1) is \(what)") }
        return text
    }

    /// A text that may be there by its name.
    func text(_ name: String) throws(MetaRefusal) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .argument("\(name) is a text") }
        return text
    }

    /// The roles to which an answer is confined; nil: all.
    func roles() throws(MetaRefusal) -> Set<String>? {
        guard let value = self[0] ?? self["filter_authroles"] else { return nil }
        guard let items = value.items else { throw .argument("the roles are a list") }
        var roles: Set<String> = []
        for item in items {
            guard let role = item.string else { throw .argument("a role is a text") }
            roles.insert(role)
        }
        return roles
    }

    /// How the options of a lookup compare URIs.
    func match() throws(MetaRefusal) -> WAMPMatch {
        guard let options = self[1] else { return .exact }
        guard let map = options.entries else { throw .argument("the options are a map") }
        guard let word = map["match"] else { return .exact }
        guard let match = word.string.flatMap(WAMPMatch.init) else { throw .argument("no such way to match") }
        return match
    }

    static func id(_ value: Value) -> WAMPID? { value.int.flatMap { WAMPID(exactly: $0) } }

    static func ids(_ ids: some Collection<WAMPID>) -> Value { .array(ids.prefix(listLimit).map { Value($0) }) }

    /// The ids of a realm's registrations or subscriptions by how they compare URIs.
    static func ids(of each: (WAMPMatch) -> [WAMPID]) -> Value {
        .map(ValueMap(WAMPMatch.allCases.map { ValueMap.Entry(key: .text($0.rawValue), value: ids(each($0))) }))
    }
}
