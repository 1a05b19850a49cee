import CodecCore

/// What somebody publishes.
struct Publication: Hashable, Sendable {
    let topic: String
    let arguments: WAMPArguments
    var isAcknowledged = false
    var excludesMe = true
    var isRetained = false
    /// Whether the publisher wants to be named; nil: it does not care.
    var disclosesMe: Bool?
    /// nil: everybody.
    var audience: Audience?

    /// A publication without options.
    init(_ topic: String, _ arguments: WAMPArguments) { (self.topic, self.arguments) = (topic, arguments) }

    /// What a PUBLISH holds; unknown options are ignored.
    init(_ topic: String, _ arguments: WAMPArguments, options: ValueMap) throws(OptionError) {
        self.init(topic, arguments)
        // Most have none.
        guard !options.entries.isEmpty else { return }
        isAcknowledged = try options.flag("acknowledge") ?? false
        excludesMe = try options.flag("exclude_me") ?? true
        isRetained = try options.flag("retain") ?? false
        disclosesMe = try options.flag("disclose_me")
        audience = try Audience.read(from: options)
    }
}

/// What a session wants to be published when it ends.
///
/// Source: WAMP, "Testament".
struct Testaments: Hashable, Sendable {
    /// When a testament is published.
    ///
    /// Here sessions cannot be resumed, so these go first, at the same end.
    private(set) var detached: [Publication] = []
    /// These follow.
    private(set) var destroyed: [Publication] = []
    private var detachedBytes = 0
    private var destroyedBytes = 0

    var count: Int { detached.count + destroyed.count }

    /// How many bytes they take, about.
    var bytes: Int { detachedBytes + destroyedBytes }

    mutating func add(_ testament: Publication, isDetached: Bool) {
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

/// Which subscribers get an event.
///
/// Source: WAMP, "Subscriber Black- and Whitelisting".
struct Audience: Hashable, Sendable {
    /// Lists of sessions by what is known of them; a list that is missing says nothing.
    struct Lists: Hashable, Sendable {
        var sessions: Set<WAMPID>?
        var authIDs: Set<String>?
        var authRoles: Set<String>?
    }
    var excluded = Lists()
    var eligible = Lists()

    /// Whether a subscriber gets the event.
    func admits(_ subscriber: Participant) -> Bool {
        if let sessions = eligible.sessions, !sessions.contains(subscriber.session) { return false }
        if let sessions = excluded.sessions, sessions.contains(subscriber.session) { return false }
        return admits(authID: subscriber.authID, authRole: subscriber.authRole)
    }

    /// The same by what outlives a session.
    func admits(authID: String, authRole: String) -> Bool {
        if let names = eligible.authIDs, !names.contains(authID) { return false }
        if let roles = eligible.authRoles, !roles.contains(authRole) { return false }
        if let names = excluded.authIDs, names.contains(authID) { return false }
        if let roles = excluded.authRoles, roles.contains(authRole) { return false }
        return true
    }

    /// Whether sessions are named by their ids, which mean nothing to those that join later.
    var namesSessions: Bool { excluded.sessions != nil || eligible.sessions != nil }
}

extension Audience {
    /// The lists that the options of a PUBLISH hold; nil if there are none.
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
