import HoldfastServer
import NIOCore
import RoomCore
import RoomsWire

/// The hub's clients on one event loop.
typealias HubPort = HostPort<HubCore>

/// An output from the machine's event loop to the event loop of a client.
enum HubOutput: Sendable {
    case send(HubFrame, to: ConnectionID)
    case fanOut(SharedFrame, to: [ConnectionID])
    case close(ConnectionID, code: UInt16, reason: String)
    case authenticate(ConnectionID, token: String?)
}

/// The hub's state on one event loop, without the clients.
final class HubLocal {
    let lanes: HubConfiguration.Lanes
    let gauges: HubGauges
    let gate: TokenGate
    /// The number of clients per address that may send long first frames and have no `welcome` yet.
    private var longGreetings: [String: Int] = [:]
    /// Received bytes, bytes handed to sockets, and dropped frames since the last report to the gauges.
    var bytesIn = 0
    var bytesOut = 0
    var dropped = 0

    init(_ lanes: HubConfiguration.Lanes, _ gauges: HubGauges, _ gate: TokenGate) {
        (self.lanes, self.gauges, self.gate) = (lanes, gauges, gate)
    }

    /// Returns whether a new client may send long frames before its `welcome`; the place is taken until ``endLongGreeting(from:)``.
    func takesLongGreeting(from address: String) -> Bool {
        guard longGreetings[address, default: 0] < lanes.longGreetings else { return false }
        longGreetings[address, default: 0] += 1
        return true
    }

    func endLongGreeting(from address: String) {
        guard let count = longGreetings[address] else { return }
        longGreetings[address] = count > 1 ? count - 1 : nil
    }

    func notifyGauges(fanOut: TimeAmount?) {
        gauges.carried(in: bytesIn, out: bytesOut, dropped: dropped, fanOut: fanOut)
        (bytesIn, bytesOut, dropped) = (0, 0, 0)
    }
}

extension ConnectionID: HostedID {}

extension HubCore {
    /// Delivers outputs that the machine's loop sent at `at`.
    static func deliver(_ outputs: [HubOutput], sentAt at: NIODeadline, at port: HubPort) {
        var hasFanOut = false
        for output in outputs {
            switch output {
            case .send(let frame, let id):
                guard let client = port[id] else { continue }
                client.say(EncodedFrame(frame, client.encoding), isEphemeral: frame.isEphemeral)
            case .fanOut(let frame, let members):
                hasFanOut = true
                let frame = frame.onLoop
                for id in members where id.port == port.number {
                    guard let client = port[id], let wire = frame[client.encoding] else { continue }
                    client.say(wire, isEphemeral: frame.isEphemeral)
                }
            case .close(let id, let code, let reason): port[id]?.close(code: code, reason: reason)
            case .authenticate(let id, let token):
                guard let client = port[id] else { continue }
                port.local.gate.ask(
                    TokenGate.Question(connection: id, token: token ?? client.caller.token, isLocal: client.caller.isLocal))
            }
        }
        port.local.notifyGauges(fanOut: hasFanOut ? .now() - at : nil)
    }
}
