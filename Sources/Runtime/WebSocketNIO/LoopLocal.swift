import DequeModule
import NIOCore
import WebSocketRuntime

/// What the connections of one event loop share: buffers that are in use for a moment only, tasks that run on the loop, and
/// connections with something to write.
///
/// So an idle connection holds no buffers, a busy one finds them warm, and a task that a connection wakes runs at the end of the
/// same turn, without another round of the loop.
///
/// SAFETY: all is used on the loop only, but for what asks `loop.inEventLoop` first.
final class LoopLocal: @unchecked Sendable {
    let loop: any EventLoop

    @exclusivity(unchecked) private var input = ByteBuffer()
    /// Buffers that long frames were read into.
    @exclusivity(unchecked) private var longInputs = Spares<ByteBuffer>()
    /// Of messages that were sent, for some to be received.
    @exclusivity(unchecked) private var storages = Spares<[UInt8]>()
    /// Those written last come last, for they are let go of last.
    @exclusivity(unchecked) private var outputs: Deque<ByteBuffer> = []
    @exclusivity(unchecked) private var jobs: Deque<UnownedJob> = []
    @exclusivity(unchecked) private var unflushed: [WebSocketHandler] = []
    @exclusivity(unchecked) private var alarms = LoopAlarms()
    /// Rings for the first of the alarms, or for one that was taken away.
    private var timer: (at: NIODeadline, task: Scheduled<Void>)?
    /// Turns in progress: what they leave to do is done when the last of them ends.
    @exclusivity(unchecked) private var turns = 0
    @exclusivity(unchecked) private var isScheduled = false
    @exclusivity(unchecked) private var isRunning = false

    private init(_ loop: any EventLoop) { self.loop = loop }

    /// Whether this runs on the loop.
    var isCurrent: Bool { loop.inEventLoop }

    // MARK: - Buffers

    /// The most that is read at once.
    static let inputCapacity = 256 * 1024
    /// Larger buffers are given up after use.
    private static let outputCapacity = 256 * 1024
    /// How many buffers wait to be written into: the socket may be slow to let go of one.
    private static let outputCount = 4

    /// An empty buffer to read into.
    func takeInput() -> ByteBuffer {
        var buffer = ByteBuffer()
        swap(&buffer, &input)
        buffer.clear(minimumCapacity: Self.inputCapacity)
        return buffer
    }

    /// Gives back a buffer that was read into; once nobody else holds it, it is used again.
    func give(input buffer: ByteBuffer) { if buffer.storageCapacity >= Self.inputCapacity { input = buffer } }

    /// An empty buffer for a frame of at least so many bytes.
    func takeLongInput(_ length: Int) -> ByteBuffer {
        let capacity = max(length, Self.inputCapacity)
        let spare = longInputs.take(capacity...4 * capacity) { $0.modifyIfUniquelyOwned { $0.clear() } != nil }
        return spare ?? ByteBufferAllocator().buffer(capacity: capacity)
    }

    /// Gives back what was taken for a long frame; once nobody else holds it, it is used again.
    func give(longInput buffer: ByteBuffer) {
        // Smaller ones are asked for by nobody, such as what is left of a buffer that a frame is still read into.
        guard buffer.storageCapacity >= Self.inputCapacity else { return }
        longInputs.give(buffer, bytes: buffer.storageCapacity)
    }

    /// Empty storage for a message of so many bytes, if there is some that fits.
    func takeStorage(_ length: Int) -> [UInt8] { storages.take(length...2 * length) ?? [] }

    /// Gives storage for another message.
    func give(storage: consuming [UInt8]) {
        let capacity = storage.capacity
        storages.give(storage, bytes: capacity)
    }

    /// An empty buffer to write into; on another thread a new one.
    func takeOutput() -> FrameBuffer {
        guard isCurrent, outputs.count == Self.outputCount, var buffer = outputs.popFirst() else { return FrameBuffer() }
        buffer.clear(minimumCapacity: 4096)
        return FrameBuffer(consume buffer)
    }

    /// Gives back a buffer that was written; once the socket has taken it, it is used again.
    func give(output buffer: ByteBuffer) {
        if buffer.storageCapacity <= Self.outputCapacity, outputs.count < Self.outputCount { outputs.append(buffer) }
    }

    // MARK: - Alarms

    /// Calls `owner` at a time, in place of the one it may have set before.
    func setAlarm(_ owner: any Alarmed, at: NIODeadline) {
        alarms.set(owner, at: at)
        setTimer()
    }

    /// Takes away the alarm of `owner`, if it has one; the timer may ring for nothing.
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
            // No more than there are: one that is set anew for a time gone by has to wait, and the loop goes on.
            for _ in 0..<self.alarms.count {
                guard let owner = self.alarms.takeDue(by: now) else { break }
                owner.alarmRang()
            }
            self.setTimer()
        }
        timer = (next, task)
    }

    // MARK: - Turns

    /// From here to ``endTurn()`` tasks only queue up.
    func beginTurn() { turns += 1 }

    /// Runs the tasks that the turn woke, then writes what they sent.
    func endTurn() {
        turns -= 1
        if turns == 0, !jobs.isEmpty || !unflushed.isEmpty { work() }
    }

    /// Runs the tasks that wait; while they do, what they wake waits its turn behind them.
    func runJobs() {
        // A job that sends may find the link broken, which ends a turn inside it.
        guard !isRunning else { return }
        isRunning = true
        defer { isRunning = false }
        turns += 1
        // A task that always finds something to do must not keep the loop from its sockets.
        for _ in 0..<256 {
            guard let job = jobs.popFirst() else { break }
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
        turns -= 1
    }

    /// This connection has something to write, and no turn of its own.
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

    /// That of `loop`, for one more user; each has to ``release()`` it, see ``LoopLease``.
    ///
    /// Counted, for a weak reference would make every other reference to it slower.
    fileprivate static func acquire(for loop: any EventLoop) -> LoopLocal {
        all.withLockedValue { all in
            // It holds its loop, so no other loop can have the same identity meanwhile.
            let local = all[ObjectIdentifier(loop)]?.local ?? LoopLocal(loop)
            all[ObjectIdentifier(loop), default: (local, 0)].users += 1
            return local
        }
    }

    /// A connection needs it no longer; after the last nobody does.
    fileprivate func release() {
        LoopLocal.all.withLockedValue { all in
            all[ObjectIdentifier(loop)]?.users -= 1
            if all[ObjectIdentifier(loop)]?.users == 0 { all[ObjectIdentifier(loop)] = nil }
        }
    }
}

// MARK: - One for each loop

/// Keeps what the connections of an event loop share for the next of them.
///
/// A server has one for each event loop, and each connection of a client has its own.
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

/// What runs on it runs on the event loop.
///
/// A task that prefers an executor would do as well, but the runtime takes a lock at each of its steps.
package actor LoopActor {
    private nonisolated let local: LoopLocal
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private var visits = 0

    init(_ local: LoopLocal) { (self.local, unownedExecutor) = (local, local.asUnownedSerialExecutor()) }

    /// Runs `body` on the event loop, and all of it that does not itself go elsewhere.
    package func run<Result: Sendable>(_ body: @Sendable () async throws -> Result) async rethrows -> Result {
        // Without state of the actor's own to touch, the compiler leaves out the way here.
        visits &+= 1
        return try await body()
    }
}

/// Reads into the one buffer that all connections of an event loop share, so that an idle one holds none.
///
/// A channel has to ask for one message per read: then its own pool keeps nothing of what it gets here. But for the first buffer,
/// which it never lets go of: that is a small one, enough for most handshakes.
struct SharedReadAllocator: RecvByteBufferAllocator {
    let local: LoopLocal
    /// Reads little, into buffers that nobody shares: for those who may read without end before they are heard.
    var isSmall = false
    /// Whether the pool keeps no more of what it gets.
    var isPoolFull = false
    /// Where the reads of a connection with long frames go.
    var longInput: LongInput?

    private static let firstCapacity = 256
    private static let smallCapacity = 16 * 1024

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        guard isPoolFull else { return allocator.buffer(capacity: Self.firstCapacity) }
        if isSmall { return allocator.buffer(capacity: Self.smallCapacity) }
        return longInput?.lend(local) ?? local.takeInput()
    }

    /// Nil keeps the channel's pool from reusing what it had before.
    func nextBufferSize() -> Int? { nil }

    /// True says that the next buffer may be another.
    mutating func record(actualReadBytes: Int) -> Bool {
        isPoolFull = true
        return true
    }
}
