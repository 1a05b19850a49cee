import CodecCore
import HoldfastServer
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketNIO
import WebSocketRuntime

/// A client on a socket: its messages are read in place, and output is written inline.
final class SocketOutput: InlineHandler, LinkOutput {
    private let port: RouterPort
    /// The client's address, as displayed, and as counted by limits.
    private let peer: String?
    private let address: String?
    private var link: RouterLink?
    private var socket: InlineSocket?
    private var serialization = WAMPSerialization.json

    init(_ request: UpgradeRequest, at port: RouterPort, by upgradePolicy: UpgradePolicy) {
        (self.port, peer, address) = (port, upgradePolicy.peer(of: request), upgradePolicy.network(of: request))
    }

    func opened(_ socket: InlineSocket) {
        self.socket = socket
        // There was room when it requested the upgrade.
        guard port.local.takeSlot(address) else {
            return socket.close(code: .tryAgainLater, reason: "too many connections of this address")
        }
        serialization = socket.agreement.subprotocol.flatMap(WAMPSerialization.init(subprotocol:)) ?? .json
        var transport: ValueMap = ["type": "websocket", "protocol": .text(serialization.subprotocol)]
        if let peer { transport["peer"] = .text(peer) }
        let link = RouterLink(serialization, transport: transport, from: address, at: port)
        self.link = link
        socket.limitMessages(to: port.local.limits.greeting)
        link.opened(self)
    }

    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {
        link?.heard(port.local.read(kind, bytes, as: serialization), bytes: bytes.byteCount)
    }

    func writable(_ socket: InlineSocket) { link?.writable() }

    func ended(_ result: Result<CloseRecord, TransportError>) {
        socket = nil
        guard let link = link.take() else { return }
        port.local.releaseSlot(address)
        link.ended()
    }

    func send(_ message: WrittenMessage) -> Bool {
        // A closed socket accepts everything, and discards it.
        guard let socket else { return true }
        switch message {
        case .own(let kind, let bytes): return bytes.withUnsafeBytes { socket.send(kind, $0.bytes) }
        case .shared(let message, _): return socket.send(message)
        }
    }

    // A socket has its own deadline.
    func close(_ frame: CloseFrame, by _: NIODeadline) { socket?.close(code: frame.code ?? .normal, reason: frame.reason) }
    func abort() { socket?.abort() }
    func hasJoined() { socket?.limitMessages(to: nil) }
    func pause() { socket?.pauseReceiving() }
    func resume() { socket?.resumeReceiving() }
}
