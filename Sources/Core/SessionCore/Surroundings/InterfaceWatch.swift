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

extension NetworkInterface {
    fileprivate var networkPath: NetworkPath { NetworkPath(kind, interface: name, isExpensive: kind == .cellular) }
}

extension NetworkPath.Kind {
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
