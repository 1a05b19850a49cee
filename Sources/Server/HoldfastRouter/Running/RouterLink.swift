import CodecCore
import DequeModule
import MachineCore
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// One client of a router, on its event loop: what it says and is told, within its bounds.
///
/// SAFETY: all is touched on the event loop of `port` only.
final class RouterLink: HostedClient, @unchecked Sendable {
    let serialization: WAMPSerialization
    let transport: ValueMap
    /// What limits per address count.
    private let address: String?
    private let port: RouterPort
    private(set) var id: RouterConnection?
    private var exit: (any LinkExit)?
    /// What waits to be handed to the exit.
    private var waiting: Deque<(message: WrittenMessage, load: Backlog.Load)> = []
    /// What that takes in memory, and how much of it its address has been charged with.
    private var (queued, charged) = (0, 0)
    /// The address had been charged with half of what it may when it was last.
    private var isCrowded = false
    /// A queue of up to so many bytes is charged to no address, and a longer one by as many at a time: most queues are short.
    private static let step = 64 << 10
    private var backlog: Backlog
    private var backlogEffects: [Backlog.Effect] = []
    private lazy var backlogTimer = DeadlineTimer(port.host.time)
    /// Calls of which a part could not be sent.
    var lost = LostExchanges()
    /// The client was told that it is too slow; nothing but the reason goes to it.
    private var isOverrun = false
    /// How it is to be closed when everything is handed over, and by when.
    private var farewell: (frame: CloseFrame, deadline: NIODeadline)?
    /// Bytes that the router has not yet looked at.
    private var unheard = 0
    private var isFull = false
    /// It has asked for more than it takes.
    private var isGreedy = false
    /// Clients whose queues this one has filled.
    private var holders = 0
    private var isPaused = false

    init(_ serialization: WAMPSerialization, transport: ValueMap, from address: String? = nil, at port: RouterPort) {
        (self.serialization, self.transport, self.address, self.port) = (serialization, transport, address, port)
        backlog = Backlog(port.local.bounds)
    }

    // MARK: - From the client

    /// The connection is open.
    func opened(_ exit: any LinkExit) {
        self.exit = exit
        guard let id = port.add(self) else {
            return exit.close(CloseFrame(.tryAgainLater, reason: "too many connections"), by: .now())
        }
        self.id = id
        port.local.tally.withLockedValue { $0.connections += 1 }
        port.hear(.opened(id, transport: transport, address: address), of: id)
    }

    /// A message came.
    func heard(_ message: Result<WAMPMessage, WAMPFormatError>, bytes: Int) {
        guard let id, farewell == nil else { return }
        let cost = bytes + Self.cost(of: message)
        unheard += cost
        if unheard > port.local.limits.unheard, !isFull {
            isFull = true
            pauseOrResume()
        }
        switch message {
        case .success(let message): port.hear(.received(id, message), of: id, cost: cost)
        case .failure(let error): port.hear(.undecodable(id, error), of: id, cost: cost)
        }
    }

    /// What a message costs the router beside its bytes: some bring about far more than they say.
    private static func cost(of message: Result<WAMPMessage, WAMPFormatError>) -> Int {
        switch message {
        case .success(.subscribe(_, let options, _)) where options["get_retained"]?.bool == true: 96 * 1024
        case .success(.call(_, _, let procedure, _)) where WAMPURI.isReserved(procedure): 16 * 1024
        default: 256
        }
    }

    /// The router has looked at so much.
    func settled(_ cost: Int) {
        unheard -= cost
        guard isFull, unheard <= port.local.limits.unheard / 2 else { return }
        isFull = false
        pauseOrResume()
    }

    /// It has filled another client's queue, or that has room again.
    func hold(_ isHeld: Bool) {
        holders += isHeld ? 1 : -1
        pauseOrResume()
    }

    private func pauseOrResume() {
        guard isPaused != (isFull || holders > 0 || isGreedy) else { return }
        isPaused.toggle()
        if isPaused { exit?.pause() } else { exit?.resume() }
    }

    /// The connection is over.
    func ended() {
        exit = nil
        dropWaiting()
        guard let id = id.take() else { return }
        port.remove(id)
        port.local.tally.withLockedValue { $0.connections -= 1 }
        port.hear(.closed(id), of: id)
    }

    // MARK: - To the client

    /// Tells the client, now or when there is room; false if others have filled its queue.
    func tell(_ written: WrittenMessage, of message: WAMPMessage, from cause: RouterConnection?) -> Bool {
        guard let exit, farewell == nil else { return true }
        if case .welcome = message { exit.hasJoined() }
        if waiting.isEmpty, exit.send(written) {
            port.local.carried(written)
            return true
        }
        return wait(written, of: message, from: cause)
    }

    /// Whether a long event has no room anyway: a publication that a thousand patterns of one client match is not to be written a
    /// thousand times in vain.
    func leavesOut(_ event: WAMPArguments, from cause: RouterConnection?) -> Bool {
        let bytes = event.weight
        guard bytes > 4096, !waiting.isEmpty || isOverrun else { return false }
        if isOverrun || farewell != nil { return true }
        return cause != id && backlog.refuses(Backlog.Load(bytes: bytes, kind: .event, cause: cause))
    }

    private func wait(_ written: WrittenMessage, of message: WAMPMessage, from cause: RouterConnection?) -> Bool {
        // A client that is cut off still learns why: that is the last it is told.
        if isOverrun { dropWaiting() }
        let kind = isOverrun || cause == id ? .own : message.kind
        let load = Backlog.Load(bytes: written.byteCount, kind: kind, cause: cause)
        // For the little that it asks for it is not cut off, though others of its address have used up what there is.
        let isLittle = kind == .own && backlog.own + load.bytes <= Self.step
        guard isOverrun || charge(queued + written.weight) || isLittle else {
            if kind == .own { overrun() }
            return kind == .own
        }
        return keep(written, load)
    }

    private func keep(_ written: WrittenMessage, _ load: Backlog.Load) -> Bool {
        let verdict = backlog.add(load, isCrowded: isCrowded, at: port.host.time.now(), into: &backlogEffects)
        tellOthers()
        switch verdict {
        case .refused: return false
        case .kept:
            waiting.append((written, load))
            queued += written.weight
            if backlog.own > port.local.limits.waiting / 4, !isGreedy {
                isGreedy = true
                pauseOrResume()
            }
        case .overrun: overrun()
        }
        return true
    }

    private func overrun() {
        guard let id else { return }
        isOverrun = true
        dropWaiting()
        port.hear(.overrun(id), of: id)
    }

    /// Charges the address with a queue that is to be so long; false if it has no room for that.
    private func charge(_ bytes: Int) -> Bool {
        let missing = bytes - Self.step - charged
        guard missing > 0 else { return true }
        let more = max(missing, Self.step)
        guard let left = port.local.takeQueue(more, of: address) else { return false }
        charged += more
        isCrowded = left < port.local.limits.waitingPerAddress / 2
        return true
    }

    /// The queue is shorter: the client may ask for more, and its address gets back what it was charged with once little waits.
    private func discharge() {
        if isGreedy, backlog.own <= port.local.limits.waiting / 8 {
            isGreedy = false
            pauseOrResume()
        }
        guard charged > 0, queued <= Self.step else { return }
        port.local.leaveQueue(charged, of: address)
        (charged, isCrowded) = (0, false)
    }

    /// There is room again.
    func writable() {
        let now = waiting.isEmpty ? Moment.start : port.host.time.now()
        while let exit, let next = waiting.first, exit.send(next.message) {
            waiting.removeFirst()
            queued -= next.message.weight
            backlog.remove(next.load, at: now, into: &backlogEffects)
            port.local.carried(next.message)
        }
        discharge()
        tellOthers()
        sayFarewell()
    }

    /// Closes when all that it was told is handed over, though not later than ``WAMPRouterConfiguration/Limits/farewell`` allows.
    func close(_ frame: CloseFrame) {
        guard farewell == nil else { return }
        let deadline = NIODeadline.now() + .nanoseconds(port.local.limits.farewell.wholeNanoseconds)
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

    private func dropWaiting() {
        (waiting, queued) = ([], 0)
        backlog.clear(at: port.host.time.now(), into: &backlogEffects)
        discharge()
        tellOthers()
    }

    /// Who fills the queue waits for the client, but not for longer than that is not slow.
    private func tellOthers() {
        if !backlogEffects.isEmpty {
            port.tell(backlogEffects)
            backlogEffects.removeAll(keepingCapacity: true)
        }
        guard let deadline = backlog.deadline, backlogTimer.ringsAfter(deadline) else { return }
        let loop = port.loop
        backlogTimer.set(deadline) { [weak self] in loop.execute { [weak self] in self?.backlogTimerRang() } }
    }

    private func backlogTimerRang() {
        backlog.wake(at: port.host.time.now(), into: &backlogEffects)
        tellOthers()
    }
}

/// Where what a client is told leaves: a socket, or any transport.
///
/// Used on the event loop of the client's port.
protocol LinkExit: AnyObject {
    /// Hands a message over; false if there is no room, which the link is told of when there is.
    func send(_ message: WrittenMessage) -> Bool
    /// Closes after what was handed over; what has not left by the deadline is dropped.
    func close(_ frame: CloseFrame, by deadline: NIODeadline)
    /// Cuts the connection without a word.
    func abort()
    /// The client has joined: from now on its messages may be as long as any.
    func hasJoined()
    /// Takes nothing more from the client, until ``resume()``.
    func pause()
    /// Takes from the client again.
    func resume()
}
