import DequeModule
package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// The shared state of all connections of one event loop: temporary buffers, tasks that run on the loop, and pending writes.
///
/// So an idle connection holds no buffers, and a busy one finds warm buffers. A task that a connection wakes runs at the end of the same
/// turn, without another round of the loop.
///
/// SAFETY: everything is used on the loop only, except for methods that check `loop.inEventLoop` first.
final class LoopLocal: @unchecked Sendable {
    let loop: any EventLoop

    @exclusivity(unchecked) private var input = ByteBuffer()
    /// The buffers of finished long frames.
    @exclusivity(unchecked) private var longInputs = MemoryPool<ByteBuffer>()
    /// The storage of sent messages, for reuse by received ones.
    @exclusivity(unchecked) private var storages = MemoryPool<[UInt8]>()
    /// The output buffers, the most recently written last, because it is released last.
    @exclusivity(unchecked) private var outputs: Deque<ByteBuffer> = []
    @exclusivity(unchecked) private var jobs: Deque<UnownedJob> = []
    @exclusivity(unchecked) private var unflushed: [WebSocketHandler] = []
    @exclusivity(unchecked) private var alarms = LoopAlarms()
    /// The timer for the first alarm, or for one that was removed.
    private var timer: (at: NIODeadline, task: Scheduled<Void>)?
    /// The number of nested turns; their pending work is done when the outermost one ends.
    @exclusivity(unchecked) private var turns = 0
    @exclusivity(unchecked) private var isScheduled = false
    @exclusivity(unchecked) private var isRunning = false

    private init(_ loop: any EventLoop) { self.loop = loop }

    /// Whether the current code runs on the loop.
    var isCurrent: Bool { loop.inEventLoop }

    // MARK: - Buffers

    /// The maximum number of bytes per read.
    static let inputCapacity = 256 * 1024
    /// The maximum size of output buffers that are kept after use.
    private static let outputCapacity = 256 * 1024
    /// The number of output buffers that are kept; several, because the socket may release one late.
    private static let outputCount = 4

    /// Returns an empty buffer to read into.
    func takeInput() -> ByteBuffer {
        var buffer = ByteBuffer()
        swap(&buffer, &input)
        buffer.clear(minimumCapacity: Self.inputCapacity)
        return buffer
    }

    /// Returns an input buffer for reuse, once nobody else holds it.
    func give(input buffer: ByteBuffer) { if buffer.storageCapacity >= Self.inputCapacity { input = buffer } }

    /// Returns an empty buffer for a frame of at least `length` bytes.
    func takeLongInput(_ length: Int) -> ByteBuffer {
        let capacity = max(length, Self.inputCapacity)
        let spare = longInputs.take(capacity...4 * capacity) { $0.modifyIfUniquelyOwned { $0.clear() } != nil }
        return spare ?? ByteBufferAllocator().buffer(capacity: capacity)
    }

    /// Returns a buffer of a long frame for reuse, once nobody else holds it.
    func give(longInput buffer: ByteBuffer) {
        // Smaller ones are never requested, such as the rest of a buffer into which a frame is still read.
        guard buffer.storageCapacity >= Self.inputCapacity else { return }
        longInputs.give(buffer, bytes: buffer.storageCapacity)
    }

    /// Returns empty storage for a message of `length` bytes, reused if some fits.
    func takeStorage(_ length: Int) -> [UInt8] { storages.take(length...2 * length) ?? [] }

    /// Keeps storage for another message.
    func give(storage: consuming [UInt8]) {
        let capacity = storage.capacity
        storages.give(storage, bytes: capacity)
    }

    /// Returns an empty buffer to write into; a new one if called on another thread.
    func takeOutput() -> FrameBuffer {
        guard isCurrent, outputs.count == Self.outputCount, var buffer = outputs.popFirst() else { return FrameBuffer() }
        buffer.clear(minimumCapacity: 4096)
        return FrameBuffer(consume buffer)
    }

    /// Returns an output buffer for reuse, once the socket has released it.
    func give(output buffer: ByteBuffer) {
        if buffer.storageCapacity <= Self.outputCapacity, outputs.count < Self.outputCount { outputs.append(buffer) }
    }

    // MARK: - Alarms

    /// Sets an alarm for `owner`, which replaces its previous one.
    func setAlarm(_ owner: any Alarmed, at: NIODeadline) {
        alarms.set(owner, at: at)
        setTimer()
    }

    /// Removes the alarm of `owner`, if it has one; the timer may then fire in vain.
    func removeAlarm(_ owner: any Alarmed) {
        alarms.remove(owner)
        guard alarms.next == nil else { return }
        timer?.task.cancel()
        timer = nil
    }

    private func setTimer() {
        guard let next = alarms.next, next < timer?.at ?? .distantFuture else { return }
        timer?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: next) {
            self.timer = nil
            let now = NIODeadline.now()
            // Limited to the present number, so that alarms set again for a past time wait and the loop can continue.
            for _ in 0..<self.alarms.count {
                guard let owner = self.alarms.takeDue(by: now) else { break }
                owner.alarmRang()
            }
            self.setTimer()
        }
        timer = (next, task)
    }

    // MARK: - Turns

    /// Begins a turn; until ``endTurn()`` tasks are only queued.
    func beginTurn() { turns += 1 }

    /// Ends a turn: runs the tasks that it woke, then writes what they sent.
    func endTurn() {
        turns -= 1
        if turns == 0, !jobs.isEmpty || !unflushed.isEmpty { work() }
    }

    /// Runs the queued tasks; tasks that they wake are queued behind them.
    func runJobs() {
        // A job that sends may find the link broken, which ends a turn inside the job.
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        turns += 1
        // Bounded, so that a task that always has work cannot keep the loop from its sockets.
        for _ in 0..<256 {
            guard let job = jobs.popFirst() else { break }
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
        turns -= 1
    }

    /// Schedules a write for a connection outside of its own turn.
    func flushLater(_ handler: WebSocketHandler) {
        unflushed.append(handler)
        if turns == 0 { schedule() }
    }

    func enqueue(_ job: UnownedJob) {
        jobs.append(job)
        if turns == 0 { schedule() }
    }

    private func work() {
        runJobs()
        let handlers = unflushed
        unflushed = []
        for handler in handlers { handler.writeOffTurn() }
        if !jobs.isEmpty || !unflushed.isEmpty { schedule() }
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.execute {
            self.isScheduled = false
            self.work()
        }
    }

    private static let all = LockedValue<[ObjectIdentifier: (local: LoopLocal, users: Int)]>([:])

    /// Returns the shared state of `loop` for one more user, who must ``release()`` it, see ``LoopLease``.
    ///
    /// The users are counted, because a weak reference would make every other reference slower.
    fileprivate static func acquire(for loop: any EventLoop) -> LoopLocal {
        all.withLockedValue { all in
            // The state holds its loop, so no other loop can have the same identity meanwhile.
            let local = all[ObjectIdentifier(loop)]?.local ?? LoopLocal(loop)
            all[ObjectIdentifier(loop), default: (local, 0)].users += 1
            return local
        }
    }

    /// Releases one use; the last release removes the state.
    fileprivate func release() {
        LoopLocal.all.withLockedValue { all in
            all[ObjectIdentifier(loop)]?.users -= 1
            if all[ObjectIdentifier(loop)]?.users == 0 { all[ObjectIdentifier(loop)] = nil }
        }
    }
}

// MARK: - One per event loop

/// Keeps the shared state of an event loop alive.
///
/// A server has one lease per event loop, and each client connection has its own.
final class LoopLease: Sendable {
    let local: LoopLocal

    init(for loop: any EventLoop) { local = LoopLocal.acquire(for: loop) }

    deinit { local.release() }
}

extension LoopLocal: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard !loop.inEventLoop else { return enqueue(job) }
        loop.execute {
            self.beginTurn()
            self.enqueue(job)
            self.endTurn()
        }
    }

    func checkIsolated() { loop.preconditionInEventLoop() }
}

/// An actor that runs on the event loop.
///
/// A task with an executor preference would work as well, but the runtime takes a lock at each of its steps.
package actor LoopActor {
    private nonisolated let local: LoopLocal
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private var visits = 0

    init(_ local: LoopLocal) { (self.local, unownedExecutor) = (local, local.asUnownedSerialExecutor()) }

    /// Runs `body` on the event loop, except for the parts that switch to another executor themselves.
    package func run<Result: Sendable>(_ body: @Sendable () async throws -> Result) async rethrows -> Result {
        // Without access to the actor's state, the compiler would optimise the executor hop away.
        visits &+= 1
        return try await body()
    }
}

/// Allocates the one read buffer that all connections of an event loop share, so that an idle connection holds none.
///
/// The channel must be set to one message per read: then its own pool keeps no buffers from here, except for the first, which it never
/// releases. That one is small, but large enough for most handshakes.
struct SharedReadAllocator: RecvByteBufferAllocator {
    let local: LoopLocal
    /// Whether to read in small pieces, into unshared buffers; used before the handshake is complete, on servers with plain HTTP.
    var isSmall = false
    /// Whether the pool keeps no more buffers.
    var isPoolFull = false
    /// The buffer for the reads of a connection with long frames.
    var longInput: LongInput?

    private static let firstCapacity = 256
    private static let smallCapacity = 16 * 1024

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        guard isPoolFull else { return allocator.buffer(capacity: Self.firstCapacity) }
        if isSmall { return allocator.buffer(capacity: Self.smallCapacity) }
        return longInput?.lend(local) ?? local.takeInput()
    }

    /// Returns nil, so that the channel's pool does not reuse its previous buffer.
    func nextBufferSize() -> Int? { nil }

    /// Returns true, which means that the next buffer may differ.
    mutating func record(actualReadBytes: Int) -> Bool {
        isPoolFull = true
        return true
    }
}

/// Passes the connections that open on one event loop to the task that starts their handlers there, in the same turn.
///
/// SAFETY: everything except ``finish()`` is called on the event loop only.
package final class Arrivals: @unchecked Sendable {
    /// A connection, its request, and the peer's address.
    package struct Arrival: Sendable {
        package let socket: WebSocketChannel
        package let head: RequestHead
        package let peer: SocketAddress?
    }
    private let lease: LoopLease
    var local: LoopLocal { lease.local }
    private var waiting: Deque<Arrival> = []
    private var taker: Parking<Arrival?>?
    private var isOver = false

    package init(on loop: any EventLoop) { lease = LoopLease(for: loop) }

    /// The identity of its event loop.
    package var id: ObjectIdentifier { ObjectIdentifier(local.loop) }

    /// Creates the actor for ``next(on:)``.
    package func makeActor() -> LoopActor { LoopActor(local) }

    /// Adds a connection; returns false after the end.
    package func add(_ socket: WebSocketChannel, _ head: RequestHead, _ peer: SocketAddress?) -> Bool {
        guard !isOver else { return false }
        let arrival = Arrival(socket: socket, head: head, peer: peer)
        if let taker = taker.take() { taker.call(arrival) } else { waiting.append(arrival) }
        return true
    }

    /// Returns the next connection; nil when there will be no more.
    ///
    /// Only one task at a time may call this.
    package func next(on actor: isolated LoopActor) async -> Arrival? {
        if let first = waiting.popFirst() { return first }
        if isOver { return nil }
        let place = Parking<Arrival?>()
        taker = place
        return await place.wait()
    }

    /// Ends the arrivals: no more connections are accepted.
    package func finish() {
        local.loop.execute {
            self.isOver = true
            self.taker.take()?.call(nil)
        }
    }
}
