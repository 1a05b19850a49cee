import RoomCore

/// A connection between a client and the hub.
///
/// Each direction keeps its order.
final class SimLink {
    enum Up { case open, frame(ClientFrame, bytes: Int), end }
    enum Down { case open, frame(HubFrame), end(UInt16) }
    /// An item in flight, or a lost one.
    struct Flight<Item> {
        var lands: Int64
        var item: Item
    }
    /// One direction, in order.
    struct Lane<Item> {
        var flights: [Flight<Item>] = []
        private var last: Int64 = 0
        /// Whether sent items are lost, unnoticed by the sender.
        var swallows = false

        /// Sends an item and returns the time when it arrives.
        mutating func send(_ item: Item, at due: Int64) -> Int64 {
            last = max(last, due)
            flights.append(Flight(lands: last, item: item))
            return last
        }

        /// Moves the last item before the ones in front of it, as long as `mayPass` allows it.
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
    /// The sequence number of its hello at the hub, or 0 before that.
    var helloNumber: Int64 = 0
    var device: DeviceID?
    /// The additional delay of each frame.
    var extraDelay: Int64 = 0

    init(id: ConnectionID, client: SimClient) { (self.id, self.client) = (id, client) }
}
