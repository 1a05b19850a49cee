import Holdfast
import HoldfastServer
import MachineCore
import NIOCore
import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

/// One client, on its event loop: reads its frames where they lie, and writes what it is to hear.
final class Visitor: InlineHandler, HostedClient {
    /// Frames of types that nobody knows are ignored, but not without end.
    private static let mostUnknown = 1000
    /// What a frame costs the hub beside its bytes.
    private static let frameCost = 256

    let caller: Caller
    private let port: HubPort
    private(set) var id: ConnectionID?
    private(set) var encoding = RoomsEncoding.json
    private var socket: InlineSocket?
    private var lanes: OutboundLanes
    /// How it is to be closed when everything is written.
    private var farewell: (code: CloseCode, reason: String)?
    /// Bytes that the hub has not yet looked at.
    private var unheard = 0
    private var isHeld = false
    /// Whether it has one of its address's places for those who say long frames before they are known.
    private var hasLongGreeting = false
    private var unknown = 0

    init(_ caller: Caller, at port: HubPort) {
        (self.caller, self.port) = (caller, port)
        lanes = OutboundLanes(limits: port.local.lanes)
    }

    func opened(_ socket: InlineSocket) {
        self.socket = socket
        encoding = socket.agreement.subprotocol.flatMap(RoomsEncoding.init(subprotocol:)) ?? .json
        guard let id = port.add(self) else { return socket.close(code: .tryAgainLater, reason: "too many connections") }
        self.id = id
        port.local.gauges.add(encoding, 1)
        hasLongGreeting = port.local.takesLongGreeting(from: caller.address)
        if !hasLongGreeting { socket.limitMessages(to: port.local.lanes.shortGreeting) }
        port.hear(.opened(id, address: caller.address), of: id)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        guard let id, farewell == nil else { return }
        let length = bytes.byteCount
        do throws(FrameError) {
            let frame = try bytes.withUnsafeBytes { bytes throws(FrameError) in
                try encoding.decodeClientFrame(bytes, isText: kind == .text)
            }
            if let frame { return hear(.received(id, frame, bytes: length), length) }
            unknown += 1
            if unknown > Self.mostUnknown { hear(.malformed(id, "too many frames of unknown types"), length) }
        } catch {
            if let envelope = bytes.withUnsafeBytes({ encoding.envelope(of: $0, isText: kind == .text) }) {
                return hear(.unreadable(id, envelope, "\(error)", bytes: length), length)
            }
            if let envelope = bytes.withUnsafeBytes({ encoding.ephemeralEnvelope(of: $0, isText: kind == .text) }) {
                return hear(.unheard(id, envelope, "\(error)", bytes: length), length)
            }
            hear(.malformed(id, "\(error)"), length)
        }
    }

    private func hear(_ input: HubInput, _ length: Int) {
        port.local.bytesIn += length
        let cost = length + Self.frameCost
        unheard += cost
        if unheard > port.local.lanes.unheard, !isHeld {
            isHeld = true
            socket?.pauseReceiving()
        }
        if let id { port.hear(input, of: id, cost: cost) }
    }

    func settled(_ cost: Int) {
        unheard -= cost
        guard isHeld, unheard <= port.local.lanes.unheard / 2 else { return }
        isHeld = false
        socket?.resumeReceiving()
    }

    /// Says something, now or when there is room.
    func say(_ frame: WireFrame, isEphemeral: Bool) {
        guard let socket, farewell == nil else { return }
        if frame.role == .welcome {
            endLongGreeting()
            socket.limitMessages(to: nil)
        }
        if lanes.isEmpty, write(frame, socket) { return }
        switch lanes.add(frame, isEphemeral: isEphemeral) {
        case .waits: break
        case .dropped: port.local.dropped += 1
        case .congested: if let id { port.hear(.congested(id), of: id) }
        case .tooMuch: close(code: 4002, reason: "too slow", atOnce: true)
        }
    }

    /// Closes when all that was said is written, though not later than ``HubConfiguration/Lanes/farewell`` allows; or at once.
    ///
    /// The machine has forgotten the client already: nobody else counts what it holds.
    func close(code: UInt16, reason: String, atOnce: Bool = false) {
        guard farewell == nil else { return }
        farewell = (CloseCode(rawValue: code), reason)
        if atOnce { dropLanes() }
        sayFarewell()
        guard !lanes.isEmpty else { return }
        port.loop.assumeIsolated().scheduleTask(in: .nanoseconds(port.local.lanes.farewell.wholeNanoseconds)) { [weak self] in
            self?.dropLanes()
            self?.sayFarewell()
        }
    }

    private func dropLanes() { lanes = OutboundLanes(limits: port.local.lanes) }

    func writable(_ socket: InlineSocket) {
        if lanes.drain({ write($0, socket) }), let id, farewell == nil { port.hear(.drained(id), of: id) }
        sayFarewell()
    }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        socket = nil
        dropLanes()
        guard let id else { return }
        self.id = nil
        port.remove(id)
        port.local.gauges.add(encoding, -1)
        endLongGreeting()
        port.hear(.gone(id), of: id)
    }

    private func endLongGreeting() {
        if hasLongGreeting { port.local.endLongGreeting(from: caller.address) }
        hasLongGreeting = false
    }

    private func write(_ frame: WireFrame, _ socket: InlineSocket) -> Bool {
        let isTaken =
            if let shared = frame.shared { socket.send(shared) } else {
                frame.bytes.withUnsafeBytes { socket.send(frame.kind, $0.bytes) }
            }
        guard isTaken else { return false }
        port.local.bytesOut += frame.bytes.count
        return true
    }

    private func sayFarewell() {
        guard let farewell, lanes.isEmpty else { return }
        socket?.close(code: farewell.code, reason: farewell.reason)
    }
}

/// Where a client comes from, as its upgrade says.
struct Caller: Sendable {
    /// What limits per address count: see `SocketAddress.network(of:)`.
    let address: String
    /// Whether it is on this machine, and nobody has passed its request on.
    let isLocal: Bool
    /// A token that came with the upgrade, for those whose `hello` has none.
    let token: String?

    init(_ request: UpgradeRequest, by door: Door) {
        address = door.network(of: request) ?? ""
        isLocal = !door.isBehindProxy && Caller.isLoopback(door.host(of: request)) && !Caller.isForwarded(request.headers)
        token = Caller.bearer(request.headers["Authorization"]) ?? Caller.parameter("token", of: request.query)
    }

    static func isLoopback(_ host: String) -> Bool {
        let host = host.hasPrefix("::ffff:") ? String(host.dropFirst(7)) : host
        guard host != "::1", host != "localhost" else { return true }
        return (try? SocketAddress(ipAddress: host, port: 0)) != nil && host.hasPrefix("127.")
    }

    /// Whether a request was sent to a name of this machine.
    ///
    /// A page on the web can make a name of its own lead here, and is then of this hub's origin: what is for this machine only asks for more.
    static func isLoopbackName(_ authority: String?) -> Bool {
        authority.map { OriginPolicy.isLoopback(host: $0) } ?? true
    }

    /// Whether a proxy says that the request is not its own.
    static func isForwarded(_ headers: HeaderFields) -> Bool {
        ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"].contains { headers[$0] != nil }
    }

    /// What follows `Bearer `.
    static func bearer(_ field: String?) -> String? {
        guard let field, field.count > 7, field.prefix(7).lowercased() == "bearer " else { return nil }
        return String(field.dropFirst(7).drop { $0 == " " })
    }

    /// The value of a parameter of the query, without its percent signs.
    static func parameter(_ name: String, of query: String?) -> String? {
        let pairs = (query ?? "").split(separator: "&").map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        guard let pair = pairs.first(where: { $0.count == 2 && $0[0] == name }) else { return nil }
        return PercentEncoding.decode(pair[1].replacing("+", with: " "))
    }
}
