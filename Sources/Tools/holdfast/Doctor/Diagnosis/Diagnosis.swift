/// What follows from what was seen: rules only.
enum Diagnosis {
    /// In the order in which a connection comes about.
    static func findings(of seen: Observations) -> [Finding] {
        let rules = [network, tls, upgrade, surroundings, pings, messages, compression, limit, close, idle]
        return rules.flatMap { $0(seen) }
    }
}
