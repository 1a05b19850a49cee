/// A pin set that did not hold, or whose day had come.
public struct PinReport: Hashable, Sendable {
    /// What was found.
    public enum Finding: Hashable, Sendable {
        /// No certificate of the verified chain has any of the pins.
        case mismatch
        /// The set's day has come.
        case expired
    }

    /// The host that the connection was for.
    public let host: String
    /// The set.
    public let set: PinSet
    /// What was found.
    public let finding: Finding
    /// Whether the connection was refused for it.
    public let isRefused: Bool
    /// The verified chain, the server's own certificate first.
    public let chain: [ServerCertificate]
}

extension [PinSet] {
    /// What these sets have to report about a verified chain; `names` are those the host goes by, `now` is in seconds since 1970.
    package func reports(on chain: [ServerCertificate], of names: [String], now: Int64) -> [PinReport] {
        compactMap { set in
            guard let host = names.first(where: { set.covers($0) }) else { return nil }
            let isExpired = set.expires.map { now >= $0.secondsSince1970 } ?? false
            let isMatched = set.pins.contains { pin in chain.contains { pin.matches($0) } }
            let isEnforced = set.mode == .enforce
            func report(_ finding: PinReport.Finding, isRefused: Bool) -> PinReport {
                PinReport(host: host, set: set, finding: finding, isRefused: isRefused, chain: chain)
            }
            guard isExpired else { return isMatched ? nil : report(.mismatch, isRefused: isEnforced) }
            switch set.afterExpiry {
            case .trustAuthorities: return report(.expired, isRefused: false)
            case .reportOnly: return isMatched ? nil : report(.mismatch, isRefused: false)
            case .refuse: return report(.expired, isRefused: isEnforced)
            }
        }
    }
}
