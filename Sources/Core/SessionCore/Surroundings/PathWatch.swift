public import MachineCore

/// Decides what news of the network means for a connection and for the attempts at one.
///
/// No news of the network is the death of a connection: TCP outlives a short loss, and one to this device needs no network.
/// So whenever there is reason to doubt it, the connection is asked at once, and its own silence judges it.
public struct PathWatch: Machine, Hashable {
    /// What is known of the network.
    public enum Phase: Hashable, Sendable {
        /// Nothing yet. → `online` on `satisfied`, → `offline` on `unsatisfied`.
        case unknown
        /// New connections take this path. → `online` on `satisfied` with another, → `offline` on `unsatisfied`.
        case online(NetworkPath)
        /// New connections have no path. → `online` on `satisfied`.
        case offline
    }
    /// What can happen to the network that matters to a connection.
    public enum Input: Hashable, Sendable {
        /// New connections take this path from now on.
        case satisfied(NetworkPath)
        /// New connections have no path.
        case unsatisfied
        /// The path that the present connection was made over is lost.
        case notViable
        /// A new connection would take a better path than the present one has.
        case betterPathAvailable
    }
    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Start no attempt until `release`, and give up one that is under way; a connection that is open stays.
        case hold
        /// The network is back: connect at once if there is no connection, as if nothing had failed before.
        ///
        /// It comes whether or not attempts were held.
        case release
        /// Ask the connection at once whether it lives.
        case probe
        /// Make a new connection, then drop the old one.
        case handOver
    }

    /// What is known of the network.
    public internal(set) var phase = Phase.unknown
    let policy: PathPolicy

    /// A watch that has heard nothing of the network; until it does, attempts are free.
    public init(policy: PathPolicy = PathPolicy()) { self.policy = policy }

    /// Nil always: only news changes anything.
    public var deadline: Moment? { nil }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.unknown, .satisfied(let path)):
            phase = .online(path)
        case (.online(let old), .satisfied(let path)) where old != path:
            effects.append(.probe)
            phase = .online(path)
        case (.offline, .satisfied(let path)):
            // What outlived the loss may have been made over another path.
            effects += [.release, .probe]
            phase = .online(path)
        case (.unknown, .unsatisfied), (.online, .unsatisfied):
            effects += policy.holdsWhenUnsatisfied ? [.hold, .probe] : [.probe]
            phase = .offline
        case (.unknown, .notViable), (.online, .notViable), (.offline, .notViable):
            effects.append(.probe)
        case (.unknown, .betterPathAvailable), (.online, .betterPathAvailable):
            if policy.handsOver { effects.append(.handOver) }
        case (.online, .satisfied), (.offline, .unsatisfied), (.offline, .betterPathAvailable): break
        }
    }

    /// Nothing comes with time alone.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {}
}

/// What a ``PathWatch`` does about the network beyond asking whether the connection lives.
public struct PathPolicy: Hashable, Sendable {
    /// Whether a better path makes a new connection over it, before the old one is dropped.
    public var handsOver: Bool
    /// Whether nothing is tried while the system says that there is no network.
    ///
    /// Turn it off where the system can be wrong, as with a network that only leads to machines nearby.
    public var holdsWhenUnsatisfied: Bool

    /// A policy; by default it stays on a path that works, and waits for a network.
    public init(handsOver: Bool = false, holdsWhenUnsatisfied: Bool = true) {
        (self.handsOver, self.holdsWhenUnsatisfied) = (handsOver, holdsWhenUnsatisfied)
    }
}

/// The way that new connections take out of this device.
///
/// Two paths that differ in anything are different paths.
public struct NetworkPath: Hashable, Sendable {
    /// What an interface is made of.
    public enum Kind: Hashable, Sendable {
        /// A cable.
        case wired
        /// A wireless network of the place.
        case wifi
        /// A mobile network.
        case cellular
        /// This device itself.
        case loopback
        /// A tunnel, or something unknown.
        case other
    }

    /// What the interface is made of.
    public var kind: Kind
    /// What the system calls the interface, such as `en0`.
    public var interface: String
    /// Whether its traffic costs money, as on a mobile network.
    public var isExpensive: Bool
    /// Whether people asked to save traffic on it.
    public var isConstrained: Bool

    /// A path over this interface; by default neither expensive nor constrained.
    public init(_ kind: Kind, interface: String, isExpensive: Bool = false, isConstrained: Bool = false) {
        (self.kind, self.interface, self.isExpensive, self.isConstrained) = (kind, interface, isExpensive, isConstrained)
    }
}

/// What one of this device's interfaces is like at a moment.
public struct NetworkInterface: Hashable, Sendable {
    /// What the system calls it, such as `eth0`.
    public var name: String
    /// What it is made of.
    public var kind: NetworkPath.Kind
    /// Its addresses, as text.
    public var addresses: Set<String>
    /// Whether packets to the rest of the world leave here.
    public var isDefault: Bool

    /// An interface that is up.
    public init(_ name: String, _ kind: NetworkPath.Kind, addresses: Set<String>, isDefault: Bool = false) {
        (self.name, self.kind, self.addresses, self.isDefault) = (name, kind, addresses, isDefault)
    }

    /// What can be connected from: not this device itself, nor an address that nobody gave it (RFC 3927, RFC 4291 §2.5.6).
    var usableAddresses: Set<String> {
        kind == .loopback ? [] : addresses.filter { !$0.hasPrefix("169.254.") && !$0.hasPrefix("fe80:") }
    }

    fileprivate var networkPath: NetworkPath { NetworkPath(kind, interface: name, isExpensive: kind == .cellular) }
}

extension NetworkPath.Kind {
    /// What an interface is made of, by the names that Linux gives.
    public init(linuxName name: String) {
        let kinds: [(prefix: String, kind: NetworkPath.Kind)] = [
            ("lo", .loopback), ("wl", .wifi), ("ww", .cellular), ("ppp", .cellular), ("rmnet", .cellular), ("en", .wired), ("eth", .wired),
        ]
        self = kinds.first { name.hasPrefix($0.prefix) }?.kind ?? .other
    }

    /// The lower, the likelier to lead somewhere.
    fileprivate var rank: Int {
        switch self {
        case .wired: 0
        case .wifi: 1
        case .cellular: 2
        case .other: 3
        case .loopback: 4
        }
    }
}

/// Tells what happened to the network from how the interfaces were and how they are.
///
/// Any interface with an address that leads out of this device counts as a network, for a wrong "no network" would hold back what
/// could connect. The path is that of the default route, or else of the likeliest interface.
///
/// | Before and after | What is told |
/// |---|---|
/// | no usable interface is left | unsatisfied |
/// | there is one again | satisfied |
/// | the path's interface is gone, or has none of its addresses any more, and there is another path | unsatisfied, then satisfied |
/// | the path's interface has lost some of its addresses | not viable |
/// | new connections take another interface, and the old one is still there | satisfied, then a better path |
/// | an interface that is not the path came or went | nothing |
public struct InterfaceWatch: Hashable, Sendable {
    /// The interface of the path, when last looked at; nil: there was none.
    private var path: NetworkInterface?
    private var hasLooked = false

    /// A watch that has not looked.
    public init() {}

    /// Looks at the interfaces that are up, and says what happened since the last time.
    public mutating func look(at interfaces: [NetworkInterface]) -> [PathWatch.Input] {
        let usable = interfaces.filter { !$0.usableAddresses.isEmpty }
        let (before, after) = (path, usable.min(by: Self.isLikelier))
        defer { (path, hasLooked) = (after, true) }
        guard let after else { return before == nil && hasLooked ? [] : [.unsatisfied] }
        guard let before else { return [.satisfied(after.networkPath)] }
        let left = usable.first { $0.name == before.name }?.usableAddresses ?? []
        if left.isDisjoint(with: before.usableAddresses) { return [.unsatisfied, .satisfied(after.networkPath)] }
        if before.name != after.name { return [.satisfied(after.networkPath), .betterPathAvailable] }
        return left.isSuperset(of: before.usableAddresses) ? [] : [.notViable]
    }

    private static func isLikelier(_ one: NetworkInterface, _ other: NetworkInterface) -> Bool {
        if one.isDefault != other.isDefault { return one.isDefault }
        return (one.kind.rank, one.name) < (other.kind.rank, other.name)
    }
}

/// The interfaces over which packets to the rest of the world leave, read from Linux's table of IPv4 routes.
public enum DefaultRoutes {
    /// Reads the text of `/proc/net/route`; of several default routes only the one that is used counts.
    ///
    /// Source: `fib_route_seq_show` in Linux's net/ipv4/fib_trie.c.
    public static func interface(inRoutes text: String) -> String? {
        let rows = text.split(separator: "\n").dropFirst().map { $0.split(whereSeparator: { $0 == "\t" || $0 == " " }) }
        let defaults = rows.compactMap { row -> (name: String, metric: Int)? in
            guard row.count >= 8, row[1].allSatisfy({ $0 == "0" }), row[7].allSatisfy({ $0 == "0" }) else { return nil }
            guard let flags = Int(row[3], radix: 16), flags & 1 == 1, let metric = Int(row[6]) else { return nil }
            return (String(row[0]), metric)
        }
        return defaults.min { $0.metric < $1.metric }?.name
    }
}
