import MachineCore

/// The messages of a room that are not known to be stored by the hub, in the order of their numbers.
///
/// It runs ahead of the store: what was ordered to be written counts as written, but is sent only once it is.
struct Outbox: Hashable, Sendable {
    /// What is known of a message while a new device is being taken.
    enum Fate: Hashable, Sendable {
        case unknown
        /// The hub does not have it.
        case free
        /// The hub may have it, and does not know any more.
        case uncertain
    }
    struct Row: Hashable, Sendable {
        var publication: Publication
        /// Queued or burning.
        var state: OutboxRow.State
        /// The transaction that holds it as it is; it is sent once that is on disk.
        var commit: Int64
        /// Whether it was sent, and neither acked nor given up since.
        var isInFlight = false
        /// Whether the app was told that it was sent.
        var wasSent = false
        /// Whether it was submitted before the hub's clock was known.
        var isUncorrected = false
        /// Whether the app wants it to be sent anew once it is burnt.
        var isWanted = false
        /// Whether the app knows already that it failed.
        var isTold = false
        var fate = Fate.unknown

        /// Whether it may be in the log, as long as nothing more is known.
        var mayBeStored: Bool { if case .burning(let failure) = state { failure.mayBeStored } else { true } }
    }
    /// What an ack means for a message.
    enum Outcome: Hashable, Sendable {
        /// None of ours, or one that is done with.
        case nothing
        /// The message is in the log.
        case stored(Row)
        /// Its number was burnt.
        case burnt(Row, OutboxFailure)
        /// Something is in the log under its number, and nobody knows what.
        case uncertain(Row)
        /// Another message is in the log under its number.
        case foreign
    }

    /// Queued and burning ones, by number.
    private(set) var rows: [Row] = []
    /// Those that wait for the app, by number.
    private(set) var failed: [OutboxRow] = []
    /// The number that the next message gets.
    private(set) var next: Int64 = 1
    private(set) var bytes = 0
    private var numbers: [MessageID: Int64] = [:]
    /// How many were sent and are not acked.
    private(set) var inFlight = 0

    init() {}

    /// What is stored; its messages may have been sent, or not.
    init(stored: [OutboxRow], next: Int64) {
        for row in stored.sorted(by: { $0.publication.cseq < $1.publication.cseq }) {
            guard numbers[row.publication.id] == nil, row.publication.cseq >= self.next else { continue }
            if case .failed = row.state { keep(row) } else { append(Row(publication: row.publication, state: row.state, commit: 0)) }
            self.next = row.publication.cseq + 1
        }
        self.next = max(self.next, next)
    }

    /// Failed ones too.
    var count: Int { rows.count + failed.count }
    /// The number of the first that is to be sent.
    ///
    /// One whose fate is known waits for its new number: it says nothing of what the hub must have for those behind it.
    var oldest: Int64? { rows.first { $0.fate == .unknown }?.publication.cseq }

    func contains(_ id: MessageID) -> Bool { numbers[id] != nil }

    private func place(of cseq: Int64) -> Int? {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].publication.cseq < cseq { low = middle + 1 } else { high = middle }
        }
        return low < rows.count && rows[low].publication.cseq == cseq ? low : nil
    }

    private func place(of id: MessageID) -> Int? { numbers[id].flatMap { place(of: $0) } }

    subscript(cseq: Int64) -> Row? { place(of: cseq).map { rows[$0] } }
    subscript(id: MessageID) -> Row? { place(of: id).map { rows[$0] } }

    func failure(of id: MessageID) -> (row: OutboxRow, failure: OutboxFailure)? {
        guard let row = failed.first(where: { $0.publication.id == id }), case .failed(let failure) = row.state else { return nil }
        return (row, failure)
    }

    // MARK: Rows

    private mutating func append(_ row: Row) {
        numbers[row.publication.id] = row.publication.cseq
        bytes += row.publication.weight
        rows.append(row)
    }

    private mutating func keep(_ row: OutboxRow) {
        numbers[row.publication.id] = row.publication.cseq
        bytes += row.publication.weight
        failed.insert(row, at: failed.lastIndex { $0.publication.cseq < row.publication.cseq }.map { $0 + 1 } ?? 0)
    }

    private mutating func removeRow(at place: Int) -> Row {
        let row = rows.remove(at: place)
        if row.isInFlight { inFlight -= 1 }
        numbers[row.publication.id] = nil
        bytes -= row.publication.weight
        return row
    }

    /// Takes a row in that has the next number.
    mutating func take(_ row: Row) {
        append(row)
        next += 1
    }

    /// Takes a message in, under the next number.
    mutating func queue(_ id: MessageID, sent: Int64, _ content: Publication.Content, commit: Int64, isUncorrected: Bool, fate: Fate)
        -> Publication
    {
        let publication = Publication(cseq: next, id: id, sent: sent, content: content)
        take(Row(publication: publication, state: .queued, commit: commit, isUncorrected: isUncorrected, fate: fate))
        return publication
    }

    /// A failed message goes.
    mutating func removeFailed(_ id: MessageID) {
        guard let place = failed.firstIndex(where: { $0.publication.id == id }) else { return }
        bytes -= failed.remove(at: place).publication.weight
        numbers[id] = nil
    }

    /// A message is given up: only its number is still to be burnt.
    mutating func burn(_ cseq: Int64, _ failure: OutboxFailure, commit: Int64, isTold: Bool = true) {
        guard let place = place(of: cseq) else { return }
        setInFlight(false, at: place)
        (rows[place].state, rows[place].commit) = (.burning(failure), commit)
        (rows[place].isTold, rows[place].isWanted) = (isTold, false)
    }

    mutating func want(_ id: MessageID) { if let place = place(of: id) { rows[place].isWanted = true } }

    /// A message is done with, and stands for the app to see.
    mutating func fail(_ cseq: Int64, _ failure: OutboxFailure, room: RoomName) {
        guard let place = place(of: cseq) else { return }
        keep(OutboxRow(room: room, publication: removeRow(at: place).publication, state: .failed(failure)))
    }

    mutating func remove(_ cseq: Int64) { if let place = place(of: cseq) { _ = removeRow(at: place) } }

    mutating func settle(_ cseq: Int64, _ fate: Fate) { if let place = place(of: cseq) { settle(at: place, fate) } }
    mutating func settle(from cseq: Int64, _ fate: Fate) {
        for place in rows.indices where rows[place].publication.cseq >= cseq { settle(at: place, fate) }
    }
    private mutating func settle(at place: Int, _ fate: Fate) {
        guard rows[place].fate == .unknown else { return }
        rows[place].fate = fate
        setInFlight(false, at: place)
    }
    var isSettled: Bool { rows.allSatisfy { $0.fate != .unknown } }

    /// The hub's clock became known: by so much the times before were wrong.
    mutating func correct(_ time: (Int64) -> Int64) {
        for place in rows.indices where rows[place].isUncorrected {
            rows[place].publication.sent = time(rows[place].publication.sent)
            rows[place].isUncorrected = false
        }
    }

    // MARK: Sending

    private mutating func setInFlight(_ flag: Bool, at place: Int) {
        guard rows[place].isInFlight != flag else { return }
        rows[place].isInFlight = flag
        inFlight += flag ? 1 : -1
    }

    /// The place in `rows` of the one that is to be sent next, if the order allows.
    ///
    /// All before it were sent, or need not be, and it is on disk.
    func ready(window: Int, written: Int64) -> Int? {
        var open = 0
        for place in rows.indices where rows[place].fate == .unknown {
            guard open < window else { return nil }
            guard rows[place].isInFlight else { return rows[place].commit <= written ? place : nil }
            open += 1
        }
        return nil
    }

    /// It was sent, or only its number; whether the app should hear of it.
    mutating func sent(at place: Int, isContent: Bool) -> Bool {
        setInFlight(true, at: place)
        guard isContent, !rows[place].wasSent, rows[place].state == .queued else { return false }
        rows[place].wasSent = true
        return true
    }

    /// What was sent from this number on is sent again.
    mutating func rewind(to cseq: Int64) {
        for place in rows.indices.reversed() {
            guard rows[place].publication.cseq >= cseq else { break }
            setInFlight(false, at: place)
        }
    }

    mutating func rewind() { rewind(to: .min) }

    // MARK: Proof

    /// What an ack means.
    ///
    /// A message is stored only if its own name was acked, with its place in the log. Without a place it may be one that retention has
    /// passed, or a void of a later life of this store, which a backup knows nothing of.
    ///
    /// - Parameter isTrimmed: Whether the log has lost entries; otherwise nothing under a number is proof that nothing was.
    func outcome(of ack: HubFrame.Ack, isTrimmed: Bool) -> Outcome {
        guard let row = self[ack.cseq] else { return .nothing }
        if let id = ack.id, id != row.publication.id { return .foreign }
        switch row.state {
        case .burning(let failure):
            if ack.id != nil, ack.seq > 0 { return .stored(row) }
            // A refused one never was in the log. Another may have been, and be forgotten since; only the first void proves that it was not.
            return ack.isDuplicate && isTrimmed && failure.mayBeStored ? .uncertain(row) : .burnt(row, failure)
        default: return ack.id != nil && ack.seq > 0 ? .stored(row) : .uncertain(row)
        }
    }
}

extension Publication {
    /// Bytes that count for the limits of the outbox.
    var weight: Int { 64 + (content?.weight ?? 0) }
}

extension Publication.Content {
    var weight: Int { payload.bytes.count + type.utf8.count + (about?.kind.utf8.count ?? 0) }
}
