import CodecCore
import MachineCore

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

// WAMP, "Registration Meta API" and "Subscription Meta API".
extension Realm {
    /// Answers a call of the meta API about registrations and subscriptions.
    func answer(_ procedure: MetaProcedure, _ call: MetaCall, for caller: Participant) throws(MetaRefusal) -> WAMPArguments {
        switch procedure {
        case .registrationList:
            try Self.checkLength(dealer.registrations.count)
            return WAMPArguments([MetaCall.ids(of: dealer.registrations(matching:))])
        case .registrationLookup: return Self.one(dealer.procedures[try call.text(0, "a procedure"), try call.match()])
        case .registrationMatch: return Self.one(dealer.procedures.best(for: try call.text(0, "a procedure")))
        case .registrationGet: return WAMPArguments([.map(dealer.details(of: try registration(call)))])
        case .registrationListCallees: return WAMPArguments([MetaCall.ids(try registration(call).callees)])
        case .registrationCountCallees: return WAMPArguments([Value(UInt64(try registration(call).callees.count))])

        case .subscriptionList:
            try Self.checkLength(broker.subscriptions.count)
            return WAMPArguments([MetaCall.ids(of: broker.subscriptions(matching:))])
        case .subscriptionLookup: return Self.one(broker.index[try call.text(0, "a topic"), try call.match()])
        case .subscriptionMatch:
            let found = broker.index.matches(of: try call.text(0, "a topic"))
            return WAMPArguments([found.isEmpty ? .null : MetaCall.ids(found)])
        case .subscriptionGet: return WAMPArguments([.map(try found(broker.details(of: try call.id())))])
        case .subscriptionListSubscribers: return WAMPArguments([MetaCall.ids(try found(broker.subscribers(of: try call.id())))])
        case .subscriptionCountSubscribers:
            return WAMPArguments([Value(UInt64(try found(broker.countSubscribers(of: try call.id()))))])
        case .subscriptionGetEvents: return try events(call, for: caller)
        default: throw MetaRefusal(WAMPURI.Error.noSuchProcedure, "no callee has registered \(procedure.rawValue)")
        }
    }

    /// Refuses a very long list, because all other clients would wait while it is built.
    private static func checkLength(_ count: Int) throws(MetaRefusal) {
        guard count > MetaCall.listLimit else { return }
        throw MetaRefusal(WAMPURI.Error.unavailable, "there are more than \(MetaCall.listLimit): look up single entries, or match a URI")
    }

    private static func one(_ id: WAMPID?) -> WAMPArguments { WAMPArguments([id.map { Value($0) } ?? .null]) }

    private func registration(_ call: MetaCall) throws(MetaRefusal) -> Dealer.Registration {
        guard let registration = dealer.registrations[try call.id()] else {
            throw MetaRefusal(WAMPURI.Error.noSuchRegistration, "there is no such registration")
        }
        return registration
    }

    private func found<Answer>(_ answer: Answer?) throws(MetaRefusal) -> Answer {
        guard let answer else { throw MetaRefusal(WAMPURI.Error.noSuchSubscription, "there is no such subscription") }
        return answer
    }

    /// Returns past events of a subscription as arguments.
    ///
    /// Source: WAMP, "Event History".
    private func events(_ call: MetaCall, for caller: Participant) throws(MetaRefusal) -> WAMPArguments {
        let id = try call.id()
        let filter = try MetaHistory(call)
        let picked = filter.pick(try found(broker.history(of: id, for: caller))) { broker.policy.time(at: $0.at) }
        var (room, count) = (MetaCall.eventBytes, 0)
        for event in picked {
            room -= event.arguments.weight + event.topic.utf8.count + 256
            if room < 0, count > 0 { break }
            count += 1
        }
        return WAMPArguments(
            picked.prefix(count).map { event in
                var map: ValueMap = [
                    "timestamp": .text(MetaHistory.text(broker.policy.time(at: event.at))), "subscription": Value(id),
                    "publication": Value(event.publication), "topic": .text(event.topic), "details": .map(event.details),
                ]
                if let list = try? event.arguments.list, !list.isEmpty { map["args"] = .array(list) }
                if let keywords = try? event.arguments.keywords, !keywords.isEmpty { map["kwargs"] = .map(keywords) }
                return .map(map)
            })
    }
}

extension Dealer {
    /// Returns the registrations with a match policy, in the order of their IDs.
    func registrations(matching match: WAMPMatch) -> [WAMPID] {
        registrations.values.filter { $0.match == match }.map(\.id).sorted()
    }
}

/// A filter for past events; an event must meet all conditions.
///
/// Source: WAMP, "Event History".
struct MetaHistory {
    private var isReverse = false
    private var limit = MetaCall.listLimit
    private var topic: String?
    private var times: [(limit: Timestamp, holds: (Timestamp, Timestamp) -> Bool)] = []
    /// A publication, whether later or earlier events are wanted, and whether the publication itself is included.
    private var publications: [(id: WAMPID, follows: Bool, isIncluded: Bool)] = []

    init(_ call: MetaCall) throws(MetaRefusal) {
        if let value = call["reverse"] {
            guard let reverse = value.bool else { throw .argument("reverse must be true or false") }
            isReverse = reverse
        }
        if let value = call["limit"] {
            guard let count = value.int, count > 0 else { throw .argument("limit must be a number of at least 1") }
            limit = min(count, limit)
        }
        topic = try call.text("topic")
        try add(call, "from_time", >=)
        try add(call, "after_time", >)
        try add(call, "before_time", <)
        try add(call, "until_time", <=)
        try add(call, "from_publication", follows: true, isIncluded: true)
        try add(call, "after_publication", follows: true, isIncluded: false)
        try add(call, "before_publication", follows: false, isIncluded: false)
        try add(call, "until_publication", follows: false, isIncluded: true)
    }

    /// Returns the events that the filter selects, in the requested order.
    func pick(_ events: [HistoricEvent], time: (HistoricEvent) -> Timestamp) -> [HistoricEvent] {
        var range = events.indices
        for (id, follows, isIncluded) in publications {
            // A publication that is not in the history happened before all events in it, because it was kept once.
            let place = events.firstIndex { $0.publication == id } ?? -1
            let bound = isIncluded == follows ? place : place + 1
            range = range.clamped(to: follows ? max(bound, 0)..<max(events.endIndex, bound) : 0..<max(bound, 0))
        }
        let meant = events[range].filter { event in
            if let topic, event.topic != topic { return false }
            // The router reports times in milliseconds, and clients send them back in that form.
            let time = Self.milliseconds(time(event))
            return times.allSatisfy { $0.holds(time, $0.limit) }
        }
        return isReverse ? Array(meant.reversed().prefix(limit)) : Array(meant.prefix(limit))
    }

    /// Returns a time in the format of the specification, `yyyy-MM-ddThh:mm:ss.SSSZ`, so that texts sort like the times.
    static func text(_ time: Timestamp) -> String {
        let digits = String(time.nanoseconds / 1_000_000)
        return "\(Timestamp(seconds: time.seconds))".dropLast() + "." + String(repeating: "0", count: 3 - digits.count) + digits + "Z"
    }

    private static func milliseconds(_ time: Timestamp) -> Timestamp {
        Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds / 1_000_000 * 1_000_000) ?? time
    }

    private mutating func add(_ call: MetaCall, _ name: String, _ holds: @escaping (Timestamp, Timestamp) -> Bool) throws(MetaRefusal) {
        guard let text = try call.text(name) else { return }
        guard let time = Timestamp(text) else { throw .argument("\(name) must be a time as in RFC 3339") }
        times.append((time, holds))
    }

    private mutating func add(_ call: MetaCall, _ name: String, follows: Bool, isIncluded: Bool) throws(MetaRefusal) {
        guard let value = call[name] else { return }
        guard let id = MetaCall.id(value) else { throw .argument("\(name) must be an id") }
        publications.append((id, follows, isIncluded))
    }
}
