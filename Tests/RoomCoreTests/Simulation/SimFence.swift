import RoomCore

/// What the state for a device's newest connection promised about a room: "`high` is a fence".
///
/// It knows the connection of each publication, which neither the log nor the clients do.
struct SimFence {
    /// A device in a room.
    struct Place: Hashable {
        var room: RoomName
        var device: DeviceID
    }
    /// The sequence number of the connection's hello.
    var helloNumber: Int64
    var epoch: UInt64
    var high: Int64
    /// The messages that this connection has published in the room.
    var own: Set<MessageID> = []
}

extension SimWorld {
    /// Records a client's frame that reached the hub.
    func noteFence(_ frame: ClientFrame, on link: SimLink) {
        switch frame {
        case .hello(let hello) where link.helloNumber == 0:
            helloCount += 1
            (link.helloNumber, link.device) = (helloCount, hello.device)
        case .publish(let room, let publication):
            guard let device = link.device else { return }
            let place = SimFence.Place(room: room, device: device)
            if fences[place]?.helloNumber == link.helloNumber { fences[place]?.own.insert(publication.id) }
        default: break
        }
    }

    /// Records a state that the hub sent.
    func noteFence(_ state: HubFrame.RoomState, to link: SimLink) {
        guard let device = link.device else { return }
        let place = SimFence.Place(room: state.room, device: device)
        let known = fences[place]
        if let known, known.helloNumber > link.helloNumber {
            broken("an older connection of a device got a state of \(state.room) after a newer one")
        }
        if let known, known.helloNumber == link.helloNumber, known.epoch == state.epoch { return }
        let own = known?.helloNumber == link.helloNumber ? known?.own : nil
        fences[place] = SimFence(helloNumber: link.helloNumber, epoch: state.epoch, high: state.high, own: own ?? [])
    }

    /// Checks records that are written to the log.
    func judgeFence(_ records: [LogRecord], in room: RoomName) {
        for record in records {
            let (device, cseq, id): (DeviceID, Int64, MessageID) =
                switch record {
                case .entry(let entry): (entry.device, entry.cseq, entry.id)
                case .void(let device, _, let cseq, let id, _): (device, cseq, id)
                }
            guard let fence = fences[SimFence.Place(room: room, device: device)], fence.epoch == hub.log.rooms[room]?.epoch else {
                continue
            }
            if cseq > fence.high, !fence.own.contains(id) {
                broken("\(cseq) of an older connection was stored in \(room) after a newer one was told of \(fence.high)")
            }
        }
    }
}
