import WAMPCore

/// A connection between a client and the router; each direction keeps its order.
final class SimLink {
    enum Item { case open, message(WAMPMessage), end }

    let connection: RouterConnection
    let client: SimClient
    /// The machine of the client and of the router to which the connection belongs.
    let life: Int
    let routerLife: Int
    let serialization: WAMPSerialization
    /// The arrival of the last message in each direction; no message overtakes it.
    var lastUp: Int64 = 0
    var lastDown: Int64 = 0
    var isOpenAtClient = true
    var isOpenAtRouter = false
    /// Nothing arrives any more, though the ends may not know it yet.
    var isCut = false
    /// The additional latency of each message.
    var extraLatency: Int64 = 0

    init(_ connection: RouterConnection, _ client: SimClient, routerLife: Int, _ serialization: WAMPSerialization) {
        (self.connection, self.client, life) = (connection, client, client.life)
        (self.routerLife, self.serialization) = (routerLife, serialization)
    }
}
