import CodecCore
import DequeModule
import MachineCore
import NIOCore
import WAMPCore
import WebSocketCore
import WebSocketRuntime

/// One client of a router, on its event loop: its input and output, within its limits.
///
/// SAFETY: Everything is accessed on the event loop of `port` only.
final class RouterLink: HostedClient, @unchecked Sendable {
    let serialization: WAMPSerialization
    let transport: ValueMap
    /// The key for limits per address.
    private let address: String?
    private let port: RouterPort
    private(set) var id: RouterConnection?
    private var exit: (any LinkOutput)?
    /// Messages that wait for the exit.
    private var waiting: Deque<(message: WrittenMessage, load: Backlog.Load)> = []
    /// The memory that they use, and how much of it was charged to the address.
    private var (queued, charged) = (0, 0)
    /// Whether the address had used more than half of its quota at the last charge.
    private var isCrowded = false
    /// A queue of up to this many bytes is not charged to its address; longer ones are charged in steps of this size.
    ///
    /// Most queues are short.
    private static let step = 64 << 10
    private var backlog: Backlog
    private var backlogEffects: [Backlog.Effect] = []
    private lazy var backlogTimer = DeadlineTimer(port.host.time)
    /// Calls with a part that could not be sent.
    var lost = LostExchanges()
    /// Whether the client was told that it is too slow.
    ///
    /// It then only receives the reason.
    private var isOverrun = false
    /// The close frame to send once everything was handed over, and the deadline for that.
    private var pendingClose: (frame: CloseFrame, deadline: NIODeadline)?
    /// The cost of inputs that the router has not yet handled.
    private var unheard = 0
    private var isFull = false
    /// Whether it has requested more than it reads.
    private var isGreedy = false
    /// The number of clients whose queues this one has filled.
    private var holders = 0
    private var isPaused = false

    init(_ serialization: WAMPSerialization, transport: ValueMap, from address: String? = nil, at port: RouterPort) {
        (self.serialization, self.transport, self.address, self.port) = (serialization, transport, address, port)
        backlog = Backlog(port.local.bounds)
    }

    // MARK: - From the client

    /// Notes that the connection is open.
    func opened(_ exit: any LinkOutput) {
        self.exit = exit
        guard let id = port.add(self) else {
            return exit.close(CloseFrame(.tryAgainLater, reason: "too many connections"), by: .now())
        }
        self.id = id
        port.local.tally.withLockedValue { $0.connections += 1 }
        port.handle(.opened(id, transport: transport, address: address), of: id)
    }

    /// Handles a message from the client.
    func heard(_ message: Result<WAMPMessage, WAMPFormatError>, bytes: Int) {
        guard let id, pendingClose == nil else { return }
        let cost = bytes + Self.cost(of: message)
        unheard += cost
        if unheard > port.local.limits.unheard, !isFull {
            isFull = true
            pauseOrResume()
        }
        switch message {
        case .success(let message): port.handle(.received(id, message), of: id, cost: cost)
        case .failure(let error): port.handle(.undecodable(id, error), of: id, cost: cost)
        }
    }

    /// Returns the cost of a message for the router, in addition to its bytes.
    ///
    /// Some messages cause far more work than their size suggests.
    private static func cost(of message: Result<WAMPMessage, WAMPFormatError>) -> Int {
        switch message {
        case .success(.subscribe(_, let options, _)) where options["get_retained"]?.bool == true: 96 * 1024
        case .success(.call(_, _, let procedure, _)) where WAMPURI.isReserved(procedure): 16 * 1024
        default: 256
        }
    }

    /// Notes that the router has handled inputs of this cost.
    func settled(_ cost: Int) {
        unheard -= cost
        guard isFull, unheard <= port.local.limits.unheard / 2 else { return }
        isFull = false
        pauseOrResume()
    }

    /// Notes that it has filled another client's queue, or that the queue has room again.
    func hold(_ isHeld: Bool) {
        holders += isHeld ? 1 : -1
        pauseOrResume()
    }

    private func pauseOrResume() {
        guard isPaused != (isFull || holders > 0 || isGreedy) else { return }
        isPaused.toggle()
        if isPaused { exit?.pause() } else { exit?.resume() }
    }

    /// Notes that the connection is over.
    func ended() {
        exit = nil
        dropWaiting()
        guard let id = id.take() else { return }
        port.remove(id)
        port.local.tally.withLockedValue { $0.connections -= 1 }
        port.handle(.closed(id), of: id)
    }

    // MARK: - To the client

    /// Sends a message now or when there is room; returns false if others have filled the client's queue.
    func notify(_ written: WrittenMessage, of message: WAMPMessage, from cause: RouterConnection?) -> Bool {
        guard let exit, pendingClose == nil else { return true }
        if case .welcome = message { exit.hasJoined() }
        if waiting.isEmpty, exit.send(written) {
            port.local.carried(written)
            return true
        }
        return wait(written, of: message, from: cause)
    }

    /// Returns whether a long event is dropped for lack of room.
    ///
    /// Checked in advance, so that a publication that matches a thousand patterns of one client is not encoded a thousand times in vain.
    func leavesOut(_ event: WAMPArguments, from cause: RouterConnection?) -> Bool {
        let bytes = event.weight
        guard bytes > 4096, !waiting.isEmpty || isOverrun else { return false }
        if isOverrun || pendingClose != nil { return true }
        return cause != id && backlog.refuses(Backlog.Load(bytes: bytes, kind: .event, cause: cause))
    }

    private func wait(_ written: WrittenMessage, of message: WAMPMessage, from cause: RouterConnection?) -> Bool {
        // A client that is cut off is still told why, as its last message.
        if isOverrun { dropWaiting() }
        let kind = isOverrun || cause == id ? .own : message.kind
        let load = Backlog.Load(bytes: written.byteCount, kind: kind, cause: cause)
        // A client is not cut off for small requests, even if others have used up the quota of its address.
        let isLittle = kind == .own && backlog.own + load.bytes <= Self.step
        guard isOverrun || charge(queued + written.weight) || isLittle else {
            if kind == .own { overrun() }
            return kind == .own
        }
        return keep(written, load)
    }

    private func keep(_ written: WrittenMessage, _ load: Backlog.Load) -> Bool {
        let verdict = backlog.add(load, isCrowded: isCrowded, at: port.host.time.now(), into: &backlogEffects)
        notifyOthers()
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
        port.handle(.overrun(id), of: id)
    }

    /// Charges the address for a queue of this length; returns false if its quota does not allow it.
    private func charge(_ bytes: Int) -> Bool {
        let missing = bytes - Self.step - charged
        guard missing > 0 else { return true }
        let more = max(missing, Self.step)
        guard let left = port.local.takeQueue(more, of: address) else { return false }
        charged += more
        isCrowded = left < port.local.limits.waitingPerAddress / 2
        return true
    }

    /// Handles a shorter queue: the client may request more, and the charge of its address is returned once little waits.
    private func discharge() {
        if isGreedy, backlog.own <= port.local.limits.waiting / 8 {
            isGreedy = false
            pauseOrResume()
        }
        guard charged > 0, queued <= Self.step else { return }
        port.local.leaveQueue(charged, of: address)
        (charged, isCrowded) = (0, false)
    }

    /// Sends waiting messages when there is room again.
    func writable() {
        let now = waiting.isEmpty ? Moment.start : port.host.time.now()
        while let exit, let next = waiting.first, exit.send(next.message) {
            waiting.removeFirst()
            queued -= next.message.weight
            backlog.remove(next.load, at: now, into: &backlogEffects)
            port.local.carried(next.message)
        }
        discharge()
        notifyOthers()
        closeWhenDrained()
    }

    /// Closes after all messages were handed over, but not later than ``WAMPRouterConfiguration/Limits/closeTimeout`` allows.
    func close(_ frame: CloseFrame) {
        guard pendingClose == nil else { return }
        let deadline = NIODeadline.now() + .nanoseconds(port.local.limits.closeTimeout.wholeNanoseconds)
        pendingClose = (frame, deadline)
        closeWhenDrained()
        guard !waiting.isEmpty else { return }
        port.loop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in
            self?.dropWaiting()
            self?.closeWhenDrained()
        }
    }

    /// Cuts the connection.
    func abort() { exit?.abort() }

    private func closeWhenDrained() {
        guard let pendingClose, waiting.isEmpty else { return }
        exit?.close(pendingClose.frame, by: pendingClose.deadline)
    }

    private func dropWaiting() {
        (waiting, queued) = ([], 0)
        backlog.clear(at: port.host.time.now(), into: &backlogEffects)
        discharge()
        notifyOthers()
    }

    /// Makes clients wait that fill this queue, but only as long as a client that is not slow would need.
    private func notifyOthers() {
        if !backlogEffects.isEmpty {
            port.notify(backlogEffects)
            backlogEffects.removeAll(keepingCapacity: true)
        }
        guard let deadline = backlog.deadline, backlogTimer.ringsAfter(deadline) else { return }
        let loop = port.loop
        backlogTimer.set(deadline) { [weak self] in loop.execute { [weak self] in self?.backlogTimerRang() } }
    }

    private func backlogTimerRang() {
        backlog.wake(at: port.host.time.now(), into: &backlogEffects)
        notifyOthers()
    }
}
