internal import CodecCore

/// The features of the current session's router, as its welcome announces them.
struct RouterTraits: Hashable, Sendable {
    private(set) var broker: Set<String> = []
    private(set) var dealer: Set<String> = []
    /// Whether the router supports CANCEL.
    private(set) var cancels = false
    /// Whether the dealer enforces or forwards the timeout of a call.
    private(set) var timesOut = false
    /// Whether a call's input may be sent in parts.
    private(set) var takesParts = false
    /// Whether a call's result may come in parts.
    private(set) var givesProgress = false

    init() {}

    init(welcome details: ValueMap) {
        broker = Self.features(of: "broker", in: details)
        dealer = Self.features(of: "dealer", in: details)
        // Both spellings are in use.
        cancels = dealer.contains("call_canceling") || dealer.contains("call_cancelling")
        timesOut = dealer.contains("call_timeout")
        takesParts = dealer.contains("progressive_call_invocations")
        givesProgress = dealer.contains("progressive_call_results")
    }

    /// Returns the feature that a subscription or registration needs and the router lacks.
    ///
    /// If a router announces no features at all, the client assumes that it has them.
    func lacking(match: WAMPMatch, among features: Set<String>, named name: String) -> String? {
        match == .exact || features.isEmpty || features.contains(name) ? nil : name
    }

    private static func features(of role: String, in details: ValueMap) -> Set<String> {
        guard let features = details["roles"]?[role]?["features"]?.entries else { return [] }
        return Set(features.entries.compactMap { $0.value == true ? $0.key.string : nil })
    }
}
