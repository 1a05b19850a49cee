import CodecCore

/// A session as the broker and the dealer of its realm know it.
struct Participant: Hashable, Sendable {
    let connection: RouterConnection
    let session: WAMPID
    let authID: String
    let authRole: String
    /// What it announced in its hello.
    let abilities: PeerAbilities
    /// For whom is kept what it leaves.
    var holder: KeepingHolder?

    /// As a callee it takes more input for an INVOCATION: only who can be interrupted may.
    ///
    /// Source: WAMP, "Progressive Call Invocations".
    var takesParts: Bool { abilities.isSuperset(of: [.parts, .interrupts]) }
}

/// What a client announces, as far as the router goes by it.
struct PeerAbilities: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// As a callee it takes INTERRUPT.
    static let interrupts = PeerAbilities(rawValue: 1)
    /// As a callee it takes more input for an INVOCATION.
    static let parts = PeerAbilities(rawValue: 2)
    /// As a caller it may send the input of a call in parts.
    static let sendsParts = PeerAbilities(rawValue: 4)
    /// As a subscriber it understands that a subscription is taken away.
    static let lostSubscriptions = PeerAbilities(rawValue: 8)
    /// As a callee it understands that a registration is taken away.
    static let lostRegistrations = PeerAbilities(rawValue: 16)
}

extension PeerAbilities {
    /// What the details of a HELLO announce.
    ///
    /// - Returns: nil if they name no role, which every hello has to. Source: WAMP, "Client: Role and Feature Announcement".
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
