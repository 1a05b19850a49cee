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
