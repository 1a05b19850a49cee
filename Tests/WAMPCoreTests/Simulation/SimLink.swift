import WAMPCore

/// A connection between a client and the router, each direction in order.
final class SimLink {
    enum Item { case open, message(WAMPMessage), end }

    let connection: RouterConnection
    let client: SimClient
    /// The client's program that made it, and the router's that it leads to.
    let life: Int
    let routerLife: Int
    let serialization: WAMPSerialization
    /// When the last thing lands that is under way, in either direction: nothing overtakes it.
    var lastUp: Int64 = 0
    var lastDown: Int64 = 0
    var isOpenAtClient = true
    var isOpenAtRouter = false
    /// Nothing crosses any more, though the ends may not know it.
    var isCut = false
    /// How much longer everything takes.
    var drag: Int64 = 0

    init(_ connection: RouterConnection, _ client: SimClient, routerLife: Int, _ serialization: WAMPSerialization) {
        (self.connection, self.client, life) = (connection, client, client.life)
        (self.routerLife, self.serialization) = (routerLife, serialization)
    }
}
