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
