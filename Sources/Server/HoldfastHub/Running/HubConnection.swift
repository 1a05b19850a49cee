import Holdfast
import HoldfastServer
import MachineCore
import NIOCore
import RoomCore
import RoomsWire
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

/// One client on its event loop: decodes its frames in place, and writes frames to it.
final class HubConnection: InlineHandler, HostedClient {
    /// The number of frames with unknown types that are ignored before the client is closed.
    private static let mostUnknown = 1000
    /// The cost of a frame in addition to its bytes.
    private static let frameCost = 256

    let caller: Caller
    private let port: HubPort
    private(set) var id: ConnectionID?
    private(set) var encoding = RoomsEncoding.json
    private var socket: InlineSocket?
    private var lanes: OutboundLanes
    /// The close code and reason to send when the queue is empty.
    private var closeReason: (code: CloseCode, reason: String)?
    /// The cost of received frames that the hub has not processed yet.
    private var unheard = 0
    private var isHeld = false
    /// Whether the client holds one of its address's places for long frames before `welcome`.
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
        port.handle(.opened(id, address: caller.address), of: id)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        guard let id, closeReason == nil else { return }
        let length = bytes.byteCount
        do throws(FrameError) {
            let frame = try bytes.withUnsafeBytes { bytes throws(FrameError) in
                try encoding.decodeClientFrame(bytes, isText: kind == .text)
            }
            if let frame { return handle(.received(id, frame, bytes: length), length) }
            unknown += 1
            if unknown > Self.mostUnknown { handle(.malformed(id, "too many frames of unknown types"), length) }
        } catch {
            if let envelope = bytes.withUnsafeBytes({ encoding.envelope(of: $0, isText: kind == .text) }) {
                return handle(.unreadable(id, envelope, "\(error)", bytes: length), length)
            }
            if let envelope = bytes.withUnsafeBytes({ encoding.ephemeralEnvelope(of: $0, isText: kind == .text) }) {
                return handle(.unheard(id, envelope, "\(error)", bytes: length), length)
            }
            handle(.malformed(id, "\(error)"), length)
        }
    }

    private func handle(_ input: HubInput, _ length: Int) {
        port.local.bytesIn += length
        let cost = length + Self.frameCost
        unheard += cost
        if unheard > port.local.lanes.unheard, !isHeld {
            isHeld = true
            socket?.pauseReceiving()
        }
        if let id { port.handle(input, of: id, cost: cost) }
    }

    func settled(_ cost: Int) {
        unheard -= cost
        guard isHeld, unheard <= port.local.lanes.unheard / 2 else { return }
        isHeld = false
        socket?.resumeReceiving()
    }

    /// Sends a frame now, or when there is room.
    func say(_ frame: EncodedFrame, isEphemeral: Bool) {
        guard let socket, closeReason == nil else { return }
        if frame.role == .welcome {
            endLongGreeting()
            socket.limitMessages(to: nil)
        }
        if lanes.isEmpty, write(frame, socket) { return }
        switch lanes.add(frame, isEphemeral: isEphemeral) {
        case .waits: break
        case .dropped: port.local.dropped += 1
        case .congested: if let id { port.handle(.congested(id), of: id) }
        case .tooMuch: close(code: 4002, reason: "too slow", atOnce: true)
        }
    }

    /// Closes the connection after all queued frames are sent, or after ``HubConfiguration/Lanes/closeTimeout``, or at once.
    ///
    /// The machine has already forgotten the client, so nothing else limits its queue.
    func close(code: UInt16, reason: String, atOnce: Bool = false) {
        guard closeReason == nil else { return }
        closeReason = (CloseCode(rawValue: code), reason)
        if atOnce { dropLanes() }
        closeWhenDrained()
        guard !lanes.isEmpty else { return }
        port.loop.assumeIsolated().scheduleTask(in: .nanoseconds(port.local.lanes.closeTimeout.wholeNanoseconds)) { [weak self] in
            self?.dropLanes()
            self?.closeWhenDrained()
        }
    }

    private func dropLanes() { lanes = OutboundLanes(limits: port.local.lanes) }

    func writable(_ socket: InlineSocket) {
        if lanes.drain({ write($0, socket) }), let id, closeReason == nil { port.handle(.drained(id), of: id) }
        closeWhenDrained()
    }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        socket = nil
        dropLanes()
        guard let id else { return }
        self.id = nil
        port.remove(id)
        port.local.gauges.add(encoding, -1)
        endLongGreeting()
        port.handle(.gone(id), of: id)
    }

    private func endLongGreeting() {
        if hasLongGreeting { port.local.endLongGreeting(from: caller.address) }
        hasLongGreeting = false
    }

    private func write(_ frame: EncodedFrame, _ socket: InlineSocket) -> Bool {
        let isTaken =
            if let shared = frame.shared { socket.send(shared) } else {
                frame.bytes.withUnsafeBytes { socket.send(frame.kind, $0.bytes) }
            }
        guard isTaken else { return false }
        port.local.bytesOut += frame.bytes.count
        return true
    }

    private func closeWhenDrained() {
        guard let closeReason, lanes.isEmpty else { return }
        socket?.close(code: closeReason.code, reason: closeReason.reason)
    }
}

/// The origin of a client, from its upgrade request.
struct Caller: Sendable {
    /// The network for limits per address; see `SocketAddress.network(of:)`.
    let address: String
    /// Whether the client is on this machine, and no proxy forwarded its request.
    let isLocal: Bool
    /// A token from the upgrade request, for a client whose `hello` has none.
    let token: String?

    init(_ request: UpgradeRequest, by upgradePolicy: UpgradePolicy) {
        address = upgradePolicy.network(of: request) ?? ""
        isLocal = !upgradePolicy.isBehindProxy && Caller.isLoopback(upgradePolicy.host(of: request)) && !Caller.isForwarded(request.headers)
        token = Caller.bearer(request.headers["Authorization"]) ?? Caller.parameter("token", of: request.query)
    }

    static func isLoopback(_ host: String) -> Bool {
        let host = host.hasPrefix("::ffff:") ? String(host.dropFirst(7)) : host
        guard host != "::1", host != "localhost" else { return true }
        return (try? SocketAddress(ipAddress: host, port: 0)) != nil && host.hasPrefix("127.")
    }

    /// Returns whether a request was sent to a name of this machine.
    ///
    /// A web page can make its own name resolve to this machine, and then has the hub's origin. So local access needs this extra check.
    static func isLoopbackName(_ authority: String?) -> Bool {
        authority.map { OriginPolicy.isLoopback(host: $0) } ?? true
    }

    /// Returns whether a proxy reports that it forwarded the request.
    static func isForwarded(_ headers: HeaderFields) -> Bool {
        ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"].contains { headers[$0] != nil }
    }

    /// Returns the text after `Bearer `.
    static func bearer(_ field: String?) -> String? {
        guard let field, field.count > 7, field.prefix(7).lowercased() == "bearer " else { return nil }
        return String(field.dropFirst(7).drop { $0 == " " })
    }

    /// Returns the value of a query parameter, percent-decoded.
    static func parameter(_ name: String, of query: String?) -> String? {
        let pairs = (query ?? "").split(separator: "&").map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        guard let pair = pairs.first(where: { $0.count == 2 && $0[0] == name }) else { return nil }
        return PercentEncoding.decode(pair[1].replacing("+", with: " "))
    }
}
