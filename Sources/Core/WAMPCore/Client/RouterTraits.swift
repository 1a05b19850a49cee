internal import CodecCore

/// What the router of the present session can do, by its welcome.
struct RouterTraits: Hashable, Sendable {
    private(set) var broker: Set<String> = []
    private(set) var dealer: Set<String> = []
    /// CANCEL is understood.
    private(set) var cancels = false
    /// The dealer keeps, or forwards, the timeout of a call.
    private(set) var timesOut = false
    /// A call's input may come in parts.
    private(set) var takesParts = false
    /// A call's result may come in parts.
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

    /// The feature that a subscription or registration needs and the router lacks; a router that announces no feature at all is asked.
    func lacking(match: WAMPMatch, among features: Set<String>, named name: String) -> String? {
        match == .exact || features.isEmpty || features.contains(name) ? nil : name
    }

    private static func features(of role: String, in details: ValueMap) -> Set<String> {
        guard let features = details["roles"]?[role]?["features"]?.entries else { return [] }
        return Set(features.entries.compactMap { $0.value == true ? $0.key.string : nil })
    }
}
