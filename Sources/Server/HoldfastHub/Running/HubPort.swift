import NIOCore
import RoomCore
import RoomsWire

/// The hub's clients on one event loop, and the way between them and the machine: in batches, one hop for each burst.
///
/// SAFETY: all is touched on the event loop only, but what is constant.
final class HubPort: @unchecked Sendable {
    /// What the machine's loop has for this one.
    enum Parcel: Sendable {
        case send(HubFrame, to: ConnectionID)
        case fanOut(SharedFrame, to: [ConnectionID])
        case close(ConnectionID, code: UInt16, reason: String)
        case authenticate(ConnectionID, token: String?)
    }

    let loop: any EventLoop
    let number: Int
    let lanes: HubConfiguration.Lanes
    private let core: HubCore
    private var visitors: [Visitor?] = []
    private var freeSlots: [Int] = []
    private var count: UInt64 = 0
    /// Clients by address whose first frames may be long, and have not been welcomed.
    private var longGreetings: [String: Int] = [:]
    /// What clients said that the machine has not been told.
    private var inputs: [HubCore.Saying] = []
    private var isScheduled = false
    /// Bytes that were handed to sockets, and frames that were dropped, since the gauges were told.
    var bytesOut = 0
    var dropped = 0
    private var bytesIn = 0

    init(_ loop: any EventLoop, number: Int, core: HubCore) {
        (self.loop, self.number, self.core, lanes) = (loop, number, core, core.configuration.lanes)
    }

    // MARK: - From clients

    /// Gives a client a number; nil: there are too many.
    func add(_ visitor: Visitor) -> ConnectionID? {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            visitors[slot] = visitor
        } else {
            guard visitors.count < ConnectionID.mostSlots else { return nil }
            slot = visitors.count
            visitors.append(visitor)
        }
        count += 1
        core.gauges.add(visitor.encoding, 1)
        return ConnectionID(count: count, slot: slot, port: number)
    }

    func remove(_ visitor: Visitor, _ id: ConnectionID) {
        visitors[id.slot] = nil
        freeSlots.append(id.slot)
        core.gauges.add(visitor.encoding, -1)
    }

    /// Whether one who has just come may say long frames before it is known; until ``endLongGreeting(from:)`` another one may not.
    func takesLongGreeting(from address: String) -> Bool {
        guard longGreetings[address, default: 0] < lanes.longGreetings else { return false }
        longGreetings[address, default: 0] += 1
        return true
    }

    func endLongGreeting(from address: String) {
        guard let count = longGreetings[address] else { return }
        longGreetings[address] = count > 1 ? count - 1 : nil
    }

    /// Tells the machine at the end of this turn of the loop, with all that other clients say in it.
    func hear(_ input: HubInput, of id: ConnectionID, cost: Int = 0) {
        inputs.append(HubCore.Saying(input: input, id: id, cost: cost))
        bytesIn += cost
        guard !isScheduled else { return }
        isScheduled = true
        loop.execute { self.handOver() }
    }

    private func handOver() {
        isScheduled = false
        let batch = inputs
        inputs = []
        inputs.reserveCapacity(batch.count)
        if core.loop === loop { core.take(batch) } else { core.loop.execute { self.core.take(batch) } }
    }

    /// The machine has been told so much of these; on the machine's loop.
    func settle(_ owed: [(id: ConnectionID, cost: Int)]) {
        guard core.loop !== loop else { return told(owed) }
        loop.execute { self.told(owed) }
    }

    private func told(_ owed: [(id: ConnectionID, cost: Int)]) { for (id, cost) in owed { visitor(id)?.heard(cost) } }

    // MARK: - To clients

    /// Delivers what the machine's loop has sent at `at`.
    func deliver(_ parcels: [Parcel], sentAt at: NIODeadline) {
        var hasFanOut = false
        for parcel in parcels {
            switch parcel {
            case .send(let frame, let id):
                guard let visitor = visitor(id) else { continue }
                visitor.say(WireFrame(frame, visitor.encoding), isEphemeral: frame.isEphemeral)
            case .fanOut(let frame, let members):
                hasFanOut = true
                let frame = frame.onLoop
                for id in members where id.port == number {
                    guard let visitor = visitor(id), let wire = frame[visitor.encoding] else { continue }
                    visitor.say(wire, isEphemeral: frame.isEphemeral)
                }
            case .close(let id, let code, let reason): visitor(id)?.close(code: code, reason: reason)
            case .authenticate(let id, let token):
                guard let visitor = visitor(id) else { continue }
                core.authenticate(id, token: token ?? visitor.caller.token, isLocal: visitor.caller.isLocal)
            }
        }
        core.gauges.carried(in: bytesIn, out: bytesOut, dropped: dropped, fanOut: hasFanOut ? .now() - at : nil)
        (bytesIn, bytesOut, dropped) = (0, 0, 0)
    }

    private func visitor(_ id: ConnectionID) -> Visitor? {
        guard id.port == number, id.slot < visitors.count, let visitor = visitors[id.slot], visitor.id == id else { return nil }
        return visitor
    }
}
