import ArgumentParser
import HoldfastHub

/// A limit of a hub with a number of one's own: `address.connections=500`.
struct HubLimit: Hashable, Sendable, ExpressibleByArgument {
    /// The limits that can be chosen; what is by the second says so in ``HubAllowance``.
    private static let paths: [(name: String, path: any WritableKeyPath<HubConfiguration, Int64> & Sendable)] = [
        ("connection.rooms", \.limits.rooms), ("connection.messages", \.perConnection.messages),
        ("connection.bytes", \.perConnection.bytes), ("connection.joins", \.perConnection.joins),
        ("user.connections", \.perUser.connections), ("user.messages", \.perUser.messages), ("user.bytes", \.perUser.bytes),
        ("user.joins", \.perUser.joins), ("user.rooms", \.perUser.rooms), ("address.connections", \.perAddress.connections),
        ("address.messages", \.perAddress.messages), ("address.bytes", \.perAddress.bytes), ("address.joins", \.perAddress.joins),
        ("address.rooms", \.perAddress.rooms),
        ("address.http", \.http.perAddress), ("hub.http", \.http.connections),
    ]
    static var names: String { paths.map(\.name).joined(separator: ", ") }
    static let values: ClosedRange<Int64> = 1...1_000_000_000

    let name: String
    let value: Int64

    /// Nil if there is no such limit, or it cannot have that value.
    init?(name: String, value: Int64) {
        guard Self.paths.contains(where: { $0.name == name }), Self.values ~= value else { return nil }
        (self.name, self.value) = (name, value)
    }

    /// Reads `name=value`.
    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let value = Int64(parts[1]) else { return nil }
        self.init(name: String(parts[0]), value: value)
    }

    func apply(to configuration: inout HubConfiguration) {
        for (name, path) in Self.paths where name == self.name { configuration[keyPath: path] = value }
    }
}
