import CodecCore

/// The event that a client or the router publishes.
struct BrokerPublication: Hashable, Sendable {
    let topic: String
    let arguments: WAMPArguments
    var isAcknowledged = false
    var excludesMe = true
    var isRetained = false
    /// Whether the publisher wants to be disclosed; nil: no preference.
    var disclosesMe: Bool?
    /// The sessions that get the event; nil: all.
    var audience: Audience?

    /// Creates a publication without options.
    init(_ topic: String, _ arguments: WAMPArguments) { (self.topic, self.arguments) = (topic, arguments) }

    /// Reads a publication from a PUBLISH; unknown options are ignored.
    init(_ topic: String, _ arguments: WAMPArguments, options: ValueMap) throws(OptionError) {
        self.init(topic, arguments)
        // Most publications have no options.
        guard !options.entries.isEmpty else { return }
        isAcknowledged = try options.flag("acknowledge") ?? false
        excludesMe = try options.flag("exclude_me") ?? true
        isRetained = try options.flag("retain") ?? false
        disclosesMe = try options.flag("disclose_me")
        audience = try Audience.read(from: options)
    }
}

/// The testaments of a session: events that are published when it ends.
///
/// Source: WAMP, "Testament".
struct Testaments: Hashable, Sendable {
    /// The testaments of scope `detached`.
    ///
    /// This router cannot resume sessions, so they are published first when the session ends.
    private(set) var detached: [BrokerPublication] = []
    /// The testaments of scope `destroyed`, which follow.
    private(set) var destroyed: [BrokerPublication] = []
    private var detachedBytes = 0
    private var destroyedBytes = 0

    var count: Int { detached.count + destroyed.count }

    /// The approximate number of bytes kept.
    var bytes: Int { detachedBytes + destroyedBytes }

    mutating func add(_ testament: BrokerPublication, isDetached: Bool) {
        if isDetached {
            detached.append(testament)
            detachedBytes += testament.weight
        } else {
            destroyed.append(testament)
            destroyedBytes += testament.weight
        }
    }

    mutating func removeAll(isDetached: Bool) {
        if isDetached { (detached, detachedBytes) = ([], 0) } else { (destroyed, destroyedBytes) = ([], 0) }
    }
}

/// The subscribers that get an event.
///
/// Source: WAMP, "Subscriber Black- and Whitelisting".
struct Audience: Hashable, Sendable {
    /// Lists of sessions by ID, authid and authrole; a missing list has no effect.
    struct Lists: Hashable, Sendable {
        var sessions: Set<WAMPID>?
        var authIDs: Set<String>?
        var authRoles: Set<String>?
    }
    var excluded = Lists()
    var eligible = Lists()

    /// Returns whether a subscriber gets the event.
    func admits(_ subscriber: Participant) -> Bool {
        if let sessions = eligible.sessions, !sessions.contains(subscriber.session) { return false }
        if let sessions = excluded.sessions, sessions.contains(subscriber.session) { return false }
        return admits(authID: subscriber.authID, authRole: subscriber.authRole)
    }

    /// Checks only the properties that outlive a session.
    func admits(authID: String, authRole: String) -> Bool {
        if let names = eligible.authIDs, !names.contains(authID) { return false }
        if let roles = eligible.authRoles, !roles.contains(authRole) { return false }
        if let names = excluded.authIDs, names.contains(authID) { return false }
        if let roles = excluded.authRoles, roles.contains(authRole) { return false }
        return true
    }

    /// Whether sessions are named by ID, which means nothing to later sessions.
    var namesSessions: Bool { excluded.sessions != nil || eligible.sessions != nil }
}

extension Audience {
    /// Reads the lists from the options of a PUBLISH; nil if there are none.
    static func read(from options: ValueMap) throws(OptionError) -> Audience? {
        var audience = Audience()
        audience.excluded = try Lists(options, "exclude")
        audience.eligible = try Lists(options, "eligible")
        return audience == Audience() ? nil : audience
    }
}

extension Audience.Lists {
    fileprivate init(_ options: ValueMap, _ name: String) throws(OptionError) {
        sessions = try options.set(name) { value in value.int.flatMap { $0 > 0 ? WAMPID($0) : nil } }
        authIDs = try options.set(name + "_authid") { $0.string }
        authRoles = try options.set(name + "_authrole") { $0.string }
    }
}
