public import MachineCore

/// Decides how changes of the network affect a connection and new attempts.
///
/// No network change ends a connection: TCP survives a short loss, and a connection within this device needs no network. Whenever a change
/// gives reason to doubt a connection, it is probed at once, and dropped only if it does not answer.
public struct PathWatch: Machine, Hashable {
    /// The known state of the network.
    public enum Phase: Hashable, Sendable {
        /// Nothing is known yet. → `online` on `satisfied`, → `offline` on `unsatisfied`.
        case unknown
        /// New connections use this path. → `online` on `satisfied` with another path, → `offline` on `unsatisfied`.
        case online(NetworkPath)
        /// New connections have no path. → `online` on `satisfied`.
        case offline
    }
    /// A network event that affects a connection.
    public enum Input: Hashable, Sendable {
        /// New connections use this path from now on.
        case satisfied(NetworkPath)
        /// New connections have no path.
        case unsatisfied
        /// The path of the present connection is lost.
        case notViable
        /// A better path than that of the present connection is available for a new one.
        case betterPathAvailable
    }
    /// The action to take.
    public enum Effect: Hashable, Sendable {
        /// Start no attempt until `release`, and cancel one that is in progress. An open connection stays.
        case hold
        /// The network is back: connect at once if there is no connection, and forgive earlier failures.
        ///
        /// Sent whether or not attempts were held.
        case release
        /// Check at once whether the connection is alive.
        case probe
        /// Open a new connection, then close the old one.
        case handOver
    }

    /// The known state of the network.
    public internal(set) var phase = Phase.unknown
    let policy: PathPolicy

    /// Creates a watch that knows nothing of the network.
    ///
    /// Until it does, attempts are allowed.
    public init(policy: PathPolicy = PathPolicy()) { self.policy = policy }

    /// Always nil: only an input changes the state.
    public var deadline: Moment? { nil }

    /// Applies one input and appends the resulting effects in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.unknown, .satisfied(let path)):
            phase = .online(path)
        case (.online(let old), .satisfied(let path)) where old != path:
            effects.append(.probe)
            phase = .online(path)
        case (.offline, .satisfied(let path)):
            // A connection that survived the loss may use another path.
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

    /// Does nothing: time alone changes nothing.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {}
}

/// How a ``PathWatch`` reacts to network changes, apart from probing the connection.
public struct PathPolicy: Hashable, Sendable {
    /// Whether to open a new connection over a better path before the old one is closed.
    public var handsOver: Bool
    /// Whether to try nothing while the system reports that there is no network.
    ///
    /// Turn it off if the system can be wrong, for example on a network that only reaches nearby machines.
    public var holdsWhenUnsatisfied: Bool

    /// Creates a policy; by default it stays on a path that works, and waits for a network.
    public init(handsOver: Bool = false, holdsWhenUnsatisfied: Bool = true) {
        (self.handsOver, self.holdsWhenUnsatisfied) = (handsOver, holdsWhenUnsatisfied)
    }
}

/// The path that new connections take out of this device.
///
/// Two paths that differ in any property are different paths.
public struct NetworkPath: Hashable, Sendable {
    /// The type of an interface.
    public enum Kind: Hashable, Sendable {
        /// A wired network.
        case wired
        /// A local wireless network.
        case wifi
        /// A mobile network.
        case cellular
        /// The loopback interface of this device.
        case loopback
        /// A tunnel, or an unknown type.
        case other
    }

    /// The type of the interface.
    public var kind: Kind
    /// The system's name of the interface, such as `en0`.
    public var interface: String
    /// Whether its traffic costs money, as on a mobile network.
    public var isExpensive: Bool
    /// Whether the user asked to save traffic on it.
    public var isConstrained: Bool

    /// Creates a path over this interface; by default neither expensive nor constrained.
    public init(_ kind: Kind, interface: String, isExpensive: Bool = false, isConstrained: Bool = false) {
        (self.kind, self.interface, self.isExpensive, self.isConstrained) = (kind, interface, isExpensive, isConstrained)
    }
}

/// A snapshot of one of this device's interfaces.
public struct NetworkInterface: Hashable, Sendable {
    /// The system's name, such as `eth0`.
    public var name: String
    /// The type.
    public var kind: NetworkPath.Kind
    /// The addresses, as text.
    public var addresses: Set<String>
    /// Whether it is the interface of the default route.
    public var isDefault: Bool

    /// Creates an interface that is up.
    public init(_ name: String, _ kind: NetworkPath.Kind, addresses: Set<String>, isDefault: Bool = false) {
        (self.name, self.kind, self.addresses, self.isDefault) = (name, kind, addresses, isDefault)
    }

    /// The addresses that can reach other devices: not loopback, and not link-local (RFC 3927, RFC 4291 §2.5.6).
    var usableAddresses: Set<String> {
        kind == .loopback ? [] : addresses.filter { !$0.hasPrefix("169.254.") && !$0.hasPrefix("fe80:") }
    }

    fileprivate var networkPath: NetworkPath { NetworkPath(kind, interface: name, isExpensive: kind == .cellular) }
}

extension NetworkPath.Kind {
    /// Creates the type from the name that Linux gives an interface.
    public init(linuxName name: String) {
        let kinds: [(prefix: String, kind: NetworkPath.Kind)] = [
            ("lo", .loopback), ("wl", .wifi), ("ww", .cellular), ("ppp", .cellular), ("rmnet", .cellular), ("en", .wired), ("eth", .wired),
        ]
        self = kinds.first { name.hasPrefix($0.prefix) }?.kind ?? .other
    }

    /// The preference of the type: lower is more likely to have a route.
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

/// Derives network events from two successive snapshots of the interfaces.
///
/// Any interface with a usable address counts as a network, because a wrong "no network" would block connections that could succeed. The
/// path is the interface of the default route, or else the most likely interface.
///
/// | Before and after | Event |
/// |---|---|
/// | no usable interface is left | unsatisfied |
/// | there is one again | satisfied |
/// | the path's interface is gone, or has none of its addresses any more, and there is another path | unsatisfied, then satisfied |
/// | the path's interface has lost some of its addresses | not viable |
/// | new connections use another interface, and the old one is still there | satisfied, then a better path |
/// | an interface that is not the path appeared or disappeared | nothing |
package struct InterfaceWatch: Hashable, Sendable {
    /// The interface of the path in the last snapshot; nil if there was none.
    private var path: NetworkInterface?
    private var hasLooked = false

    /// Creates a watch without a snapshot.
    package init() {}

    /// Compares the interfaces that are up with the last snapshot, and returns what happened since.
    package mutating func look(at interfaces: [NetworkInterface]) -> [PathWatch.Input] {
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

/// The interface of the default route, read from Linux's table of IPv4 routes.
package enum DefaultRoutes {
    /// Reads the text of `/proc/net/route`.
    ///
    /// Of several default routes, only the one with the lowest metric counts.
    ///
    /// Source: `fib_route_seq_show` in Linux's net/ipv4/fib_trie.c.
    package static func interface(inRoutes text: String) -> String? {
        let rows = text.split(separator: "\n").dropFirst().map { $0.split(whereSeparator: { $0 == "\t" || $0 == " " }) }
        let defaults = rows.compactMap { row -> (name: String, metric: Int)? in
            guard row.count >= 8, row[1].allSatisfy({ $0 == "0" }), row[7].allSatisfy({ $0 == "0" }) else { return nil }
            guard let flags = Int(row[3], radix: 16), flags & 1 == 1, let metric = Int(row[6]) else { return nil }
            return (String(row[0]), metric)
        }
        return defaults.min { $0.metric < $1.metric }?.name
    }
}
