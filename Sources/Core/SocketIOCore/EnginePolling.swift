import CodecCore
package import MachineCore
package import WebSocketCore

/// The rules of a connection that begins with long polling (Engine.IO protocols 3 and 4, "HTTP long-polling" and "Upgrade").
///
/// At most one request to receive (GET) and one to send (POST) are under way. If the server offers it, a WebSocket takes over: it is
/// opened and probed while the polling continues. Then both requests are left to end, so that no packet is lost, doubled or overtaken.
package struct EnginePolling: Machine, Hashable {
    package enum Input: Hashable, Sendable {
        case start
        /// The app can take one more packet.
        case wanted
        case send(Message)
        /// The server has answered the GET, with this body.
        case polled([UInt8])
        /// The server has taken the POST.
        case posted
        /// A request has failed.
        case failed
        case webSocketOpened
        case webSocketReceived(Message)
        /// The WebSocket has ended, or could not be opened.
        case webSocketEnded
        /// The app closes the connection.
        case close
    }

    package enum Effect: Hashable, Sendable {
        /// Start a GET.
        case poll
        /// Start a POST with this body.
        case post([UInt8])
        /// The server has accepted the connection, which has this id.
        case opened(sid: String)
        /// Give the app a packet.
        case deliver(Message)
        /// The server has taken this many of the earliest packets of the app.
        case sent(Int)
        /// Open a WebSocket for the same connection.
        case openWebSocket
        /// Read one message from the WebSocket.
        case readWebSocket
        /// Write a packet of the app to the WebSocket, and report then that it was sent.
        case writeWebSocket(Message)
        /// Write a packet of the rules.
        case controlWebSocket(Message)
        /// Close the WebSocket after all that was written.
        case closeWebSocket
        case dropWebSocket
        case ended(End)
    }

    /// How a connection ended.
    package enum End: Hashable, Sendable {
        /// The app closed it.
        case closed
        /// A request or the WebSocket failed.
        case failed
        /// The server broke the protocol.
        case broken(String)
    }

    private enum Phase: Hashable, Sendable {
        case idle, opening, open, closing, over
    }
    private enum Upgrade: Hashable, Sendable {
        /// The connection stays with polling, or the server has not offered more yet.
        case none
        case opening(due: Moment)
        case probing(due: Moment)
        /// The server has answered the probe. The requests under way have to end.
        case pausing(due: Moment)
        case done
    }

    /// Whether a WebSocket takes over if the server offers it.
    private let upgrades: Bool
    /// How long the WebSocket may take until it takes over.
    private let patience: Duration
    private let version: SocketIOVersion
    private var phase = Phase.idle
    private var upgrade = Upgrade.none
    /// The first packet, until the app takes it.
    private var opening: Message?
    private var inbox: EnginePayload
    private var outbox: [Message] = []
    private var postLimit = Int.max
    private var (isWanted, isPolling, isReading) = (false, false, false)
    /// The number of packets in the POST under way.
    private var posting = 0

    package init(upgrades: Bool, patience: Duration = .seconds(20), _ version: SocketIOVersion = .v5) {
        (self.upgrades, self.patience, self.version, inbox) = (upgrades, patience, version, EnginePayload())
    }

    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        guard phase != .over else { return }
        switch input {
        case .start:
            (phase, isPolling) = (.opening, true)
            effects.append(.poll)
        case .wanted: isWanted = true
        case .send(let message): outbox.append(message)
        case .polled(let body):
            (isPolling, inbox) = (false, EnginePayload(body, version))
            if phase == .opening { open(at: now, into: &effects) }
        case .posted:
            effects.append(.sent(posting))
            posting = 0
        case .failed: return end(.failed, into: &effects)
        case .webSocketOpened:
            guard case .opening(let due) = upgrade else { return effects.append(.dropWebSocket) }  // It is late.
            upgrade = .probing(due: due)
            effects.append(.controlWebSocket(Self.probe))
            read(into: &effects)
        case .webSocketReceived(let message):
            isReading = false
            take(message, into: &effects)
        case .webSocketEnded:
            switch upgrade {
            case .none: return
            case .opening, .probing, .pausing: cancelUpgrade(into: &effects)
            case .done: return end(.failed, into: &effects)
            }
        case .close: close(into: &effects)
        }
        advance(into: &effects)
    }

    /// Whether the WebSocket has taken over.
    package var hasUpgraded: Bool { upgrade == .done }

    package var deadline: Moment? {
        switch upgrade {
        case .opening(let due), .probing(let due), .pausing(let due): due
        case .none, .done: nil
        }
    }

    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        cancelUpgrade(into: &effects)
        advance(into: &effects)
    }

    // MARK: - Packets

    private static let probe = Message.text("2probe")
    private static let probed = Message.text("3probe")
    private static let upgraded = Message.text("5")
    private static let noop = Message.text("6")
    private static let closing = Message.text("1")

    /// Reads the first packet of the server.
    private mutating func open(at now: Moment, into effects: inout [Effect]) {
        do throws(CodecError) {
            guard let first = try inbox.next() else { throw CodecError(.malformed, at: 0) }
            let value = try EngineHandshake.value(of: first)
            let handshake = try EngineHandshake(value)
            phase = .open
            effects.append(.opened(sid: handshake.sid))
            // In the body of a POST, bytes take a third more.
            if let limit = handshake.maximumBytes { postLimit = limit }
            opening =
                try handshake.maximumBytes.map { limit throws(CodecError) in
                    try EngineHandshake.message(value, maximumBytes: max(limit / 4 * 3 - 4, 1))
                } ?? first
            guard upgrades, value["upgrades"]?.items?.contains("websocket") == true else { return }
            upgrade = .opening(due: now + patience)
            effects.append(.openWebSocket)
        } catch {
            end(.broken("the server's first packet breaks the protocol: \(error)"), into: &effects)
        }
    }

    /// Handles a message of the WebSocket.
    private mutating func take(_ message: Message, into effects: inout [Effect]) {
        switch upgrade {
        case .probing(let due): if message == Self.probed { upgrade = .pausing(due: due) } else { cancelUpgrade(into: &effects) }
        case .done where message != Self.noop:
            isWanted = false
            effects.append(.deliver(message))
        default: break
        }
    }

    /// Gives up the WebSocket before it has taken over.
    private mutating func cancelUpgrade(into effects: inout [Effect]) {
        (upgrade, isReading) = (.none, false)
        effects.append(.dropWebSocket)
    }

    private mutating func close(into effects: inout [Effect]) {
        switch phase {
        case .idle, .opening: return end(.closed, into: &effects)
        case .closing, .over: return
        case .open: phase = .closing
        }
        switch upgrade {
        case .none: outbox.append(Self.closing)
        case .opening, .probing, .pausing:
            cancelUpgrade(into: &effects)
            outbox.append(Self.closing)
        case .done: effects.append(.closeWebSocket)
        }
    }

    private mutating func end(_ end: End, into effects: inout [Effect]) {
        // Once this side closes, it does not matter how the server takes that.
        effects.append(.ended(phase == .closing ? .closed : end))
        (phase, upgrade, inbox, outbox) = (.over, .none, EnginePayload(), [])
    }

    private mutating func read(into effects: inout [Effect]) {
        isReading = true
        effects.append(.readWebSocket)
    }

    // MARK: - What comes next

    private mutating func advance(into effects: inout [Effect]) {
        guard phase == .open || phase == .closing else { return }
        do throws(CodecError) { try deliver(into: &effects) } catch {
            return end(.broken("a packet of the server breaks the protocol: \(error)"), into: &effects)
        }
        if case .pausing = upgrade, !isPolling, posting == 0 {
            upgrade = .done
            effects.append(.controlWebSocket(Self.upgraded))
        }
        switch upgrade {
        case .none, .opening, .probing:
            if isWanted, !isPolling, phase == .open {
                isPolling = true
                effects.append(.poll)
            }
            if posting == 0 { post(into: &effects) }
        case .pausing: break
        case .done:
            for message in outbox { effects.append(.writeWebSocket(message)) }
            outbox = []
            if isWanted, !isReading { read(into: &effects) }
        }
    }

    /// Gives the app the next polled packet, if there is one and it is wanted.
    private mutating func deliver(into effects: inout [Effect]) throws(CodecError) {
        while isWanted {
            var packet = opening.take()
            if packet == nil { packet = try inbox.next() }
            guard let packet else { return }
            if packet == Self.noop { continue }
            isWanted = false
            effects.append(.deliver(packet))
        }
    }

    /// How many packets a body may have: python-engineio refuses more (`Payload.max_decode_packets`).
    private static let packetLimit = 16

    /// Sends as many packets as the server accepts in one body.
    private mutating func post(into effects: inout [Effect]) {
        guard let first = outbox.first else {
            if phase == .closing { end(.closed, into: &effects) }
            return
        }
        var size = EnginePayload.size(of: first, version)
        posting = 1
        for packet in outbox.dropFirst() {
            size += 1 + EnginePayload.size(of: packet, version)
            guard size <= postLimit, posting < Self.packetLimit else { break }
            posting += 1
        }
        effects.append(.post(EnginePayload.bytes(of: outbox.prefix(posting), version)))
        outbox.removeFirst(posting)
    }
}
