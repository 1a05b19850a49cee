import CodecCore

/// A session from the point of view of its realm's broker and dealer.
struct Participant: Hashable, Sendable {
    let connection: RouterConnection
    let session: WAMPID
    let authID: String
    let authRole: String
    /// The features that the client announced in its hello.
    let abilities: PeerAbilities
    /// The user or address for which its retained events are kept after it has left.
    var holder: RetentionOwner?

    /// Whether the session, as a callee, accepts progressive input; this also requires that it can be interrupted.
    ///
    /// Source: WAMP, "Progressive Call Invocations".
    var takesParts: Bool { abilities.isSuperset(of: [.parts, .interrupts]) }
}

/// The announced features of a client that the router uses.
struct PeerAbilities: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// The callee supports INTERRUPT.
    static let interrupts = PeerAbilities(rawValue: 1)
    /// The callee accepts more input for an INVOCATION.
    static let parts = PeerAbilities(rawValue: 2)
    /// The caller may send the input of a call in parts.
    static let sendsParts = PeerAbilities(rawValue: 4)
    /// The subscriber understands a revoked subscription.
    static let lostSubscriptions = PeerAbilities(rawValue: 8)
    /// The callee understands a revoked registration.
    static let lostRegistrations = PeerAbilities(rawValue: 16)
}

extension PeerAbilities {
    /// Reads the features that the details of a HELLO announce.
    ///
    /// - Returns: Nil if they name no role, although each hello must. Source: WAMP, "Client: Role and Feature Announcement".
    init?(hello details: ValueMap) {
        guard let roles = details["roles"]?.entries else { return nil }
        let known: [Value] = ["publisher", "subscriber", "caller", "callee"]
        guard known.contains(where: { roles[$0]?.entries != nil }) else { return nil }
        self = []
        func has(_ role: Value, _ feature: String) -> Bool { roles[role]?["features"]?[feature]?.bool == true }
        // Both spellings are in use.
        if has("callee", "call_canceling") || has("callee", "call_cancelling") { insert(.interrupts) }
        if has("callee", "progressive_call_invocations") { insert(.parts) }
        if has("caller", "progressive_call_invocations") { insert(.sendsParts) }
        if has("subscriber", "subscription_revocation") { insert(.lostSubscriptions) }
        if has("callee", "registration_revocation") { insert(.lostRegistrations) }
    }
}
