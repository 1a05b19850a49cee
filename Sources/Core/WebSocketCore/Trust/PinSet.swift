/// The pins of some hosts, and what a chain without any of them means.
///
/// A set holds if any certificate of the verified chain has any of its pins. Give at least one backup: the pin of a key that lies in
/// a safe, or of another authority; without it a lost key locks every installed app out. If several sets cover a host, each must hold.
public struct PinSet: Hashable, Sendable {
    /// What a chain without any of the pins means.
    public enum Mode: Hashable, Sendable {
        /// The connection is refused, before anything was sent.
        case enforce
        /// It is reported, and the authorities' word is taken.
        case reportOnly
    }

    /// What becomes of a set whose day has come.
    public enum AfterExpiry: Hashable, Sendable {
        /// The authorities' word is taken, as if there were no pins; each connection reports that.
        case trustAuthorities
        /// As in `reportOnly`.
        case reportOnly
        /// No connection is made until the app has new pins. In a set of mode `reportOnly` it is only reported.
        case refuse
    }

    /// The hosts: `example.com`; `*.example.com` for one more label; `**.example.com` for the domain and all below it.
    public var hosts: [String]
    /// The pins, backups among them.
    public var pins: [Pin]
    /// What a chain without any of the pins means.
    public var mode: Mode
    /// The day, in UTC, from whose beginning on the pins no longer count; nil: they always do.
    public var expires: CalendarDate?
    /// What becomes of the set then.
    public var afterExpiry: AfterExpiry

    /// Makes a set.
    public init(
        _ hosts: String..., pins: [Pin], mode: Mode = .enforce, expires: CalendarDate? = nil, afterExpiry: AfterExpiry = .trustAuthorities
    ) {
        (self.hosts, self.pins, self.mode, self.expires, self.afterExpiry) = (hosts, pins, mode, expires, afterExpiry)
    }

    /// Whether it says something about this host.
    public func covers(_ host: String) -> Bool { hosts.contains { Self.matches(Self.bare(host), Self.bare($0)) } }

    /// Why it cannot be used; nil: it can.
    package var problem: String? {
        if hosts.isEmpty { return "a pin set names no host" }
        if pins.isEmpty { return "the pin set for \(hosts.joined(separator: ", ")) has no pins, so nothing could match it" }
        for host in hosts {
            let name = Self.domain(Self.bare(host))
            guard !name.isEmpty, !name.contains("*"), !name.contains("/"), !name.contains("://") else {
                return "\(quoted(host)) is no host of a pin set; write example.com, *.example.com or **.example.com"
            }
        }
        return nil
    }

    private static func matches(_ host: Substring, _ pattern: Substring) -> Bool {
        let domain = domain(pattern)
        if pattern.hasPrefix("**.") { return host == domain || host.hasSuffix("." + domain) }
        guard pattern.hasPrefix("*.") else { return host == pattern }
        return host.hasSuffix("." + domain) && !host.dropLast(domain.count + 1).contains(".") && host.count > domain.count + 1
    }

    private static func domain(_ pattern: Substring) -> Substring {
        pattern.hasPrefix("**.") ? pattern.dropFirst(3) : pattern.hasPrefix("*.") ? pattern.dropFirst(2) : pattern
    }

    /// In lower case and without the dot that stands for the root: neither makes another host of it.
    private static func bare(_ host: String) -> Substring {
        let name = HeaderSyntax.lowercased(host[...])
        return name.hasSuffix(".") ? name.dropLast() : name[...]
    }
}
