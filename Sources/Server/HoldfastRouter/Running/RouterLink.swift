import CodecCore
import DequeModule
import NIOCore
import WAMPCore
import WebSocketCore

/// One client of a router, on its event loop: what it says and is told, within its bounds.
///
/// SAFETY: all is touched on the event loop of `port` only.
final class RouterLink: @unchecked Sendable {
    let serialization: WAMPSerialization
    let transport: ValueMap
    private let port: RouterPort
    private(set) var id: RouterConnection?
    private var exit: (any LinkExit)?
    /// What waits to be handed to the exit.
    private var waiting: Deque<WrittenMessage> = []
    private var waitingBytes = 0
    /// The client was told that it is too slow; nothing but the reason goes to it.
    private var isOverrun = false
    /// How it is to be closed when everything is handed over, and by when.
    private var farewell: (frame: CloseFrame, deadline: NIODeadline)?
    /// Bytes that the router has not yet looked at.
    private var unheard = 0
    private var isHeld = false

    init(_ serialization: WAMPSerialization, transport: ValueMap, at port: RouterPort) {
        (self.serialization, self.transport, self.port) = (serialization, transport, port)
    }

    // MARK: - From the client

    /// The connection is open.
    func opened(_ exit: any LinkExit) {
        self.exit = exit
        guard let id = port.add(self) else {
            return exit.close(CloseFrame(.tryAgainLater, reason: "too many connections"), by: .now())
        }
        self.id = id
        port.hear(.opened(id, transport: transport), from: self, cost: 0)
    }

    /// A message came.
    func heard(_ message: Result<WAMPMessage, WAMPFormatError>, bytes: Int) {
        guard let id, farewell == nil else { return }
        let cost = bytes + Self.cost(of: message)
        unheard += cost
        if unheard > port.limits.unheard, !isHeld {
            isHeld = true
            exit?.pause()
        }
        switch message {
        case .success(let message): port.hear(.received(id, message), from: self, cost: cost)
        case .failure(let error): port.hear(.undecodable(id, error), from: self, cost: cost)
        }
    }

    /// What a message costs the router beside its bytes: some bring about far more than they say.
    private static func cost(of message: Result<WAMPMessage, WAMPFormatError>) -> Int {
        switch message {
        case .success(.subscribe(_, let options, _)) where options["get_retained"]?.bool == true: 64 * 1024
        case .success(.call(_, _, let procedure, _)) where WAMPURI.isReserved(procedure): 16 * 1024
        default: 256
        }
    }

    /// The router has looked at so much.
    func settled(_ cost: Int) {
        unheard -= cost
        guard isHeld, unheard <= port.limits.unheard / 2 else { return }
        isHeld = false
        exit?.resume()
    }

    /// The connection is over.
    func ended() {
        exit = nil
        dropWaiting()
        guard let id = id.take() else { return }
        port.remove(self, id)
        port.hear(.closed(id), from: self, cost: 0)
    }

    // MARK: - To the client

    /// Tells the client, now or when there is room.
    func tell(_ message: WrittenMessage) {
        guard let exit, farewell == nil else { return }
        if waiting.isEmpty, exit.send(message) { return port.carried(message) }
        // A client that is cut off still learns why: that is the last it is told.
        if isOverrun { dropWaiting() }
        waiting.append(message)
        waitingBytes += message.byteCount
        guard !isOverrun, waitingBytes > port.limits.waiting, let id else { return }
        isOverrun = true
        dropWaiting()
        port.hear(.overrun(id), from: self, cost: 0)
    }

    /// There is room again.
    func writable() {
        while let exit, let message = waiting.first, exit.send(message) {
            waiting.removeFirst()
            waitingBytes -= message.byteCount
            port.carried(message)
        }
        sayFarewell()
    }

    /// Closes when all that it was told is handed over, though not later than ``WAMPRouterConfiguration/Limits/farewell`` allows.
    func close(_ frame: CloseFrame) {
        guard farewell == nil else { return }
        let deadline = NIODeadline.now() + .nanoseconds(port.limits.farewell.wholeNanoseconds)
        farewell = (frame, deadline)
        sayFarewell()
        guard !waiting.isEmpty else { return }
        port.loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
            self?.dropWaiting()
            self?.sayFarewell()
        }
    }

    /// Cuts the connection.
    func abort() { exit?.abort() }

    private func sayFarewell() {
        guard let farewell, waiting.isEmpty else { return }
        exit?.close(farewell.frame, by: farewell.deadline)
    }

    private func dropWaiting() { (waiting, waitingBytes) = ([], 0) }
}
