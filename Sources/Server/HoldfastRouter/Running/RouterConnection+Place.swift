import WAMPCore

/// Where a connection is served: in its number, so that nobody has to look for it.
extension RouterConnection {
    private static let portBits: UInt64 = 10
    private static let slotBits: UInt64 = 22
    /// How many connections one event loop can have.
    static let mostSlots = 1 << Int(slotBits)
    /// How many event loops there can be.
    static let mostPorts = 1 << Int(portBits)

    /// The `count`-th connection of a port, in one of its slots; `count` makes it unique.
    init(count: UInt64, slot: Int, port: Int) {
        self.init((count << Self.slotBits | UInt64(slot)) << Self.portBits | UInt64(port))
    }

    /// The event loop.
    var port: Int { Int(number & UInt64(Self.mostPorts - 1)) }
    /// The place there.
    var slot: Int { Int(number >> Self.portBits & UInt64(Self.mostSlots - 1)) }
}
