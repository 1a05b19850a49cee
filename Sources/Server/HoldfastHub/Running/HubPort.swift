import HoldfastServer
import NIOCore
import RoomCore
import RoomsWire

/// The hub's clients on one event loop.
typealias HubPort = HostPort<HubCore>

/// What the machine's event loop has for that of a client.
enum HubParcel: Sendable {
    case send(HubFrame, to: ConnectionID)
    case fanOut(SharedFrame, to: [ConnectionID])
    case close(ConnectionID, code: UInt16, reason: String)
    case authenticate(ConnectionID, token: String?)
}

/// What the hub has on one event loop, beside its clients.
final class HubLocal {
    let lanes: HubConfiguration.Lanes
    let gauges: HubGauges
    let gate: TokenGate
    /// Clients by address whose first frames may be long, and have not been welcomed.
    private var longGreetings: [String: Int] = [:]
    /// Bytes that came, bytes that were handed to sockets, and frames that were dropped, since the gauges were told.
    var bytesIn = 0
    var bytesOut = 0
    var dropped = 0

    init(_ lanes: HubConfiguration.Lanes, _ gauges: HubGauges, _ gate: TokenGate) {
        (self.lanes, self.gauges, self.gate) = (lanes, gauges, gate)
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

    func tellGauges(fanOut: TimeAmount?) {
        gauges.carried(in: bytesIn, out: bytesOut, dropped: dropped, fanOut: fanOut)
        (bytesIn, bytesOut, dropped) = (0, 0, 0)
    }
}

extension ConnectionID: HostedID {}

extension HubCore {
    /// Delivers what the machine's loop has sent at `at`.
    static func deliver(_ parcels: [HubParcel], sentAt at: NIODeadline, at port: HubPort) {
        var hasFanOut = false
        for parcel in parcels {
            switch parcel {
            case .send(let frame, let id):
                guard let visitor = port[id] else { continue }
                visitor.say(WireFrame(frame, visitor.encoding), isEphemeral: frame.isEphemeral)
            case .fanOut(let frame, let members):
                hasFanOut = true
                let frame = frame.onLoop
                for id in members where id.port == port.number {
                    guard let visitor = port[id], let wire = frame[visitor.encoding] else { continue }
                    visitor.say(wire, isEphemeral: frame.isEphemeral)
                }
            case .close(let id, let code, let reason): port[id]?.close(code: code, reason: reason)
            case .authenticate(let id, let token):
                guard let visitor = port[id] else { continue }
                port.local.gate.ask(
                    TokenGate.Question(connection: id, token: token ?? visitor.caller.token, isLocal: visitor.caller.isLocal))
            }
        }
        port.local.tellGauges(fanOut: hasFanOut ? .now() - at : nil)
    }
}
