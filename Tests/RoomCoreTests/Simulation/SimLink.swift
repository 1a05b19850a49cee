import RoomCore

/// A connection between a client and the hub, each direction in order.
final class SimLink {
    enum Up { case open, frame(ClientFrame, bytes: Int), end }
    enum Down { case open, frame(HubFrame), end(UInt16) }
    /// Something on its way, or swallowed.
    struct Flight<Item> {
        var lands: Int64
        var item: Item
    }
    /// One direction: in order, never overtaking.
    struct Lane<Item> {
        var flights: [Flight<Item>] = []
        private var last: Int64 = 0
        /// What is sent is lost, though the sender does not see it.
        var swallows = false

        /// Takes something; returns when it lands.
        mutating func send(_ item: Item, at due: Int64) -> Int64 {
            last = max(last, due)
            flights.append(Flight(lands: last, item: item))
            return last
        }

        /// Lets the last go before the one in front of it, and that one before those in front of it, as long as it may.
        mutating func overtake(while mayPass: (Item, Item) -> Bool) -> Int64 {
            var (place, passed) = (flights.count - 1, Int64(0))
            while place > 0, mayPass(flights[place].item, flights[place - 1].item) {
                let item = flights[place].item
                flights[place].item = flights[place - 1].item
                flights[place - 1].item = item
                (place, passed) = (place - 1, passed + 1)
            }
            return passed
        }
    }
    let id: ConnectionID
    let client: SimClient
    var up = Lane<Up>()
    var down = Lane<Down>()
    var isOpenAtClient = true
    var isOpenAtHub = false
    var isCut = false
    var isCongested = false
    /// How-manieth its hello was at the hub, and of which device; 0: none yet.
    var greeting: Int64 = 0
    var device: DeviceID?
    /// How much longer everything takes.
    var drag: Int64 = 0

    init(id: ConnectionID, client: SimClient) { (self.id, self.client) = (id, client) }
}
