import MachineCore

/// The messages of a room that are not known to be stored by the hub, in the order of their numbers.
///
/// It is ahead of the store: ordered writes count as written, but a message is sent only after it is on disk.
struct RoomOutbox: Hashable, Sendable {
    /// What the client knows about a message while it changes to a new device ID.
    enum Verdict: Hashable, Sendable {
        case unknown
        /// The hub does not have it.
        case free
        /// The hub may have it, and can no longer tell.
        case uncertain
    }
    struct Row: Hashable, Sendable {
        var publication: Publication
        /// Queued or voiding.
        var state: OutboxRow.State
        /// The transaction that writes this state; the message is sent once that is on disk.
        var commit: Int64
        /// Whether it was sent, and neither acked nor given up since.
        var isInFlight = false
        /// Whether the app knows that it was sent.
        var wasSent = false
        /// Whether it was submitted before the hub's clock was known.
        var isUncorrected = false
        /// Whether the app wants to send it again once its number is voided.
        var isWanted = false
        /// Whether the app knows that it failed.
        var isTold = false
        var verdict = Verdict.unknown

        /// Whether it may be in the log, as far as is known.
        var mayBeStored: Bool { if case .voiding(let failure) = state { failure.mayBeStored } else { true } }
    }
    /// The meaning of an ack for a message.
    enum Outcome: Hashable, Sendable {
        /// The number belongs to no pending message.
        case nothing
        /// The message is in the log.
        case stored(Row)
        /// Its number was voided.
        case voided(Row, OutboxFailure)
        /// The log has an entry under its number, and the hub no longer knows which.
        case uncertain(Row)
        /// Another message is in the log under its number.
        case foreign
    }

    /// The queued and voiding messages, by number.
    private(set) var rows: [Row] = []
    /// The failed messages that wait for a decision of the app, by number.
    private(set) var failed: [OutboxRow] = []
    /// The number of the next message.
    private(set) var next: Int64 = 1
    private(set) var bytes = 0
    private var numbers: [MessageID: Int64] = [:]
    /// The number of messages that were sent and not acked.
    private(set) var inFlight = 0

    init() {}

    /// Creates an outbox from stored rows; their messages may have been sent or not.
    init(stored: [OutboxRow], next: Int64) {
        for row in stored.sorted(by: { $0.publication.cseq < $1.publication.cseq }) {
            guard numbers[row.publication.id] == nil, row.publication.cseq >= self.next else { continue }
            if case .failed = row.state { keep(row) } else { append(Row(publication: row.publication, state: row.state, commit: 0)) }
            self.next = row.publication.cseq + 1
        }
        self.next = max(self.next, next)
    }

    /// The number of messages, including failed ones.
    var count: Int { rows.count + failed.count }
    /// The number of the first message to send.
    ///
    /// Messages whose outcome is known wait for a new number and do not count: they say nothing about what the hub must have before the
    /// later ones.
    var oldest: Int64? { rows.first { $0.verdict == .unknown }?.publication.cseq }

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

    /// Adds a row that has the next number.
    mutating func take(_ row: Row) {
        append(row)
        next += 1
    }

    /// Adds a message under the next number.
    mutating func queue(_ id: MessageID, sent: Int64, _ content: Publication.Content, commit: Int64, isUncorrected: Bool, verdict: Verdict)
        -> Publication
    {
        let publication = Publication(cseq: next, id: id, sent: sent, content: content)
        take(Row(publication: publication, state: .queued, commit: commit, isUncorrected: isUncorrected, verdict: verdict))
        return publication
    }

    /// Removes a failed message.
    mutating func removeFailed(_ id: MessageID) {
        guard let place = failed.firstIndex(where: { $0.publication.id == id }) else { return }
        bytes -= failed.remove(at: place).publication.weight
        numbers[id] = nil
    }

    /// Gives up a message, so that only its number remains to be voided.
    mutating func void(_ cseq: Int64, _ failure: OutboxFailure, commit: Int64, isTold: Bool = true) {
        guard let place = place(of: cseq) else { return }
        setInFlight(false, at: place)
        (rows[place].state, rows[place].commit) = (.voiding(failure), commit)
        (rows[place].isTold, rows[place].isWanted) = (isTold, false)
    }

    mutating func want(_ id: MessageID) { if let place = place(of: id) { rows[place].isWanted = true } }

    /// Moves a message to the failed messages, where the app sees it.
    mutating func fail(_ cseq: Int64, _ failure: OutboxFailure, room: RoomName) {
        guard let place = place(of: cseq) else { return }
        keep(OutboxRow(room: room, publication: removeRow(at: place).publication, state: .failed(failure)))
    }

    mutating func remove(_ cseq: Int64) { if let place = place(of: cseq) { _ = removeRow(at: place) } }

    mutating func settle(_ cseq: Int64, _ verdict: Verdict) { if let place = place(of: cseq) { settle(at: place, verdict) } }
    mutating func settle(from cseq: Int64, _ verdict: Verdict) {
        for place in rows.indices where rows[place].publication.cseq >= cseq { settle(at: place, verdict) }
    }
    private mutating func settle(at place: Int, _ verdict: Verdict) {
        guard rows[place].verdict == .unknown else { return }
        rows[place].verdict = verdict
        setInFlight(false, at: place)
    }
    var isSettled: Bool { rows.allSatisfy { $0.verdict != .unknown } }

    /// Corrects the times of messages that were submitted before the hub's clock was known.
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

    /// Returns the index in `rows` of the next message to send, if the order allows it.
    ///
    /// All messages before it are in flight or need not be sent, and it is on disk.
    func ready(window: Int, written: Int64) -> Int? {
        var open = 0
        for place in rows.indices where rows[place].verdict == .unknown {
            guard open < window else { return nil }
            guard rows[place].isInFlight else { return rows[place].commit <= written ? place : nil }
            open += 1
        }
        return nil
    }

    /// Records that a message, or only its number, was sent; returns whether to tell the app.
    mutating func sent(at place: Int, isContent: Bool) -> Bool {
        setInFlight(true, at: place)
        guard isContent, !rows[place].wasSent, rows[place].state == .queued else { return false }
        rows[place].wasSent = true
        return true
    }

    /// Marks all messages from this number on to be sent again.
    mutating func rewind(to cseq: Int64) {
        for place in rows.indices.reversed() {
            guard rows[place].publication.cseq >= cseq else { break }
            setInFlight(false, at: place)
        }
    }

    mutating func rewind() { rewind(to: .min) }

    // MARK: Proof

    /// Returns the meaning of an ack.
    ///
    /// A message counts as stored only if its own ID was acked with a position in the log. Without a position it may be a message that
    /// retention has deleted, or a void from a later state of this store, which a restored backup does not know.
    ///
    /// - Parameter isTrimmed: Whether the log has lost entries; if not, an empty number proves that nothing was stored.
    func outcome(of ack: HubFrame.Ack, isTrimmed: Bool) -> Outcome {
        guard let row = self[ack.cseq] else { return .nothing }
        if let id = ack.id, id != row.publication.id { return .foreign }
        switch row.state {
        case .voiding(let failure):
            if ack.id != nil, ack.seq > 0 { return .stored(row) }
            // A message that the hub refused was never in the log. Any other may have been in it and deleted since. Only the first void
            // proves that it was not.
            return ack.isDuplicate && isTrimmed && failure.mayBeStored ? .uncertain(row) : .voided(row, failure)
        default: return ack.id != nil && ack.seq > 0 ? .stored(row) : .uncertain(row)
        }
    }
}

extension Publication {
    /// The bytes that count towards the outbox limits.
    var weight: Int { 64 + (content?.weight ?? 0) }
}

extension Publication.Content {
    var weight: Int { payload.bytes.count + type.utf8.count + (about?.kind.utf8.count ?? 0) }
}
