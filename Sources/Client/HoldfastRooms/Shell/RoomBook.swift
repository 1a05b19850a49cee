import DequeModule
import Holdfast
import RoomCore

/// What the app sees of a room.
struct RoomBook {
    /// Entries that wait for a reader, after the last that it took.
    struct Reading {
        /// Which contents of the store it reads; nil before it has begun.
        var generation: UInt64?
        /// Where it wants to begin.
        var wish: LogPosition?
        /// The last that it took.
        var seq: Int64 = 0
        /// It has taken something, which may be replaced.
        var hasBegun = false
        var ready: Deque<Entry> = []
        let changes: Changes
    }
    struct WeakReceipt {
        weak var receipt: Receipt?
    }
    /// Entries that a reader has at hand at most; the rest waits in the store.
    static let readerLimit = 64

    let changes = Changes()
    var status = RoomStatus()
    var isLoaded = false
    /// The app wants all that the hub retains.
    var startsAtBeginning = false
    /// What came before the last entries is still being fetched; who reads from the beginning waits for it.
    var isFilling = false
    /// Counts how often what is stored was replaced.
    var generation: UInt64 = 0
    var readers: [UInt64: Reading] = [:]
    var signals: [UInt64: AsyncStream<ReceivedSignal>.Continuation] = [:]
    var pages: [Int64: PageOutcome?] = [:]
    /// Failed messages that are being queued anew, and why they failed.
    private(set) var retried: [MessageID: OutboxFailure] = [:]
    private var receipts: [MessageID: WeakReceipt] = [:]
    private var pruneAt = 64

    mutating func add(_ receipt: Receipt) {
        if receipts.count >= pruneAt {
            receipts = receipts.filter { $0.value.receipt != nil }
            pruneAt = max(64, 2 * receipts.count)
        }
        receipts[receipt.id] = WeakReceipt(receipt: receipt)
    }

    func receipt(_ id: MessageID) -> Receipt? { receipts[id]?.receipt }
    var liveReceipts: [Receipt] { receipts.values.compactMap(\.receipt) }

    mutating func leave() {
        status.phase = .left
        (status.members, status.total, status.typing) = ([], 0, [])
    }

    // MARK: - The outbox

    /// A failed message is to be sent after all.
    mutating func retry(_ id: MessageID) {
        guard let place = status.outbox.firstIndex(where: { $0.id == id }), let failure = status.outbox[place].stage.failure else { return }
        status.outbox[place].stage = .submitted
        retried[id] = failure
    }

    /// Puts down what has become of a message; what is stored stays until its entry is here, so that no screen misses it in between.
    mutating func note(_ id: MessageID, _ stage: DeliveryStage) {
        retried[id] = nil
        guard let place = status.outbox.firstIndex(where: { $0.id == id }) else { return }
        switch stage {
        case .stored(let position) where position.epoch == status.cursor.epoch && position.seq > status.cursor.seq:
            status.outbox[place].stage = stage
        case .stored, .seen, .discarded: status.outbox.remove(at: place)
        case .submitted, .queued, .sent, .failed: status.outbox[place].stage = stage
        }
    }

    /// Takes what the store holds; what was submitted meanwhile comes after it.
    mutating func load(_ stored: StoredRoom) {
        (isLoaded, isFilling, retried) = (true, false, [:])
        if stored.cursor.epoch != status.cursor.epoch || stored.cursor.seq < status.cursor.seq { generation += 1 }
        (status.cursor, status.first, status.read) = (stored.cursor, stored.first, max(stored.read, status.read))
        let known = Dictionary(status.outbox.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let rows = stored.outbox.compactMap { row -> PendingMessage? in
            guard let content = row.publication.content else { return nil }
            let stage: DeliveryStage =
                switch row.state {
                case .queued: known[row.publication.id].map { $0.stage == .submitted ? .queued : $0.stage } ?? .queued
                case .burning(let failure), .failed(let failure): .failed(failure)
                }
            return PendingMessage(id: row.publication.id, sent: row.publication.sent, content: content, stage: stage)
        }
        let ids = Set(rows.map(\.id))
        status.outbox = rows + status.outbox.filter { !ids.contains($0.id) && ($0.stage == .submitted || $0.stage.position != nil) }
        dropShown()
    }

    /// Takes away what is stored and among the entries.
    mutating func dropShown() {
        let cursor = status.cursor
        status.outbox.removeAll { message in
            message.stage.position.map { $0.epoch != cursor.epoch || $0.seq <= cursor.seq } ?? false
        }
    }

    // MARK: - Entries

    mutating func append(_ entries: [Entry], epoch: UInt64) {
        guard let last = entries.last else { return }
        status.cursor = LogPosition(epoch: epoch, seq: last.seq)
        dropShown()
        for id in readers.keys {
            guard let reading = readers[id], reading.generation == generation,
                (reading.ready.last?.seq ?? reading.seq) + 1 == entries[0].seq,
                reading.ready.count + entries.count <= Self.readerLimit
            else { continue }  // It reads them from the store.
            readers[id]?.ready.append(contentsOf: entries)
        }
    }

    mutating func replace(_ position: LogPosition, _ entries: [Entry]) {
        generation += 1
        isFilling = startsAtBeginning && status.cursor == .nowhere && entries.first?.seq ?? 1 > 1
        if position.epoch != status.cursor.epoch { (status.reads, status.read) = ([:], 0) }
        (status.cursor, status.first) = (position, entries.first?.seq ?? position.seq + 1)
        dropShown()
    }

    mutating func prepend(_ entries: [Entry], reachedBeginning: Bool) {
        if let first = entries.first, let last = entries.last, last.seq == status.first - 1 { status.first = first.seq }
        if reachedBeginning || status.first == 1 { isFilling = false }
    }

    /// Who else has read up to a place.
    func readers(of position: LogPosition) -> [UserName] {
        guard position.epoch == status.cursor.epoch, position.seq > 0 else { return [] }
        return status.reads.filter { $0.value >= position.seq && $0.key != status.user }.keys.sorted()
    }
}

/// What became of a question for older entries.
enum PageOutcome {
    case page([Entry], reachedBeginning: Bool)
    case none(Refusal?)
}
