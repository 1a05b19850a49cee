/// What a client was told of a room, step by step, and what it has stored at the end.
struct StoreTrail: Sendable {
    private let name: String
    /// The epoch of the stored entries.
    private(set) var epoch: String?
    /// The numbers that must be stored, from the first to the last.
    ///
    /// If none must be, first is last + 1.
    private var (first, last): (Int64, Int64) = (1, 0)
    /// The program was started again and has not reported its store's cursor yet.
    private var mayHaveMoved = false
    private var mayHaveGoneBack = false
    private var dump: HistoryEvent?
    private var faults: [String] = []

    init(name: String) { self.name = name }

    mutating func starts() { mayHaveMoved = true }
    mutating func isRestored() { (mayHaveMoved, mayHaveGoneBack) = (true, true) }

    mutating func note(_ event: HistoryEvent) {
        let items = event.items ?? []
        for (one, next) in zip(items, items.dropFirst()) where next.seq != one.seq + 1 {
            faults.append("\(name) \(event.what.rawValue): from \(one.seq) to \(next.seq)")
        }
        switch event.what {
        case .applied: apply(items, epoch: event.epoch ?? "")
        case .replaced: replace(items, epoch: event.epoch ?? "", cursor: event.seq ?? 0)
        case .paged: if let stored = event.seq, stored < first { first = stored }
        case .opened: open(event, epoch: event.epoch ?? "", cursor: event.seq ?? 0)
        case .forgot: (epoch, first, last) = (nil, 1, 0)
        case .store: dump = event
        default: break
        }
    }

    private mutating func apply(_ items: [HistoryItem], epoch new: String) {
        guard let begin = items.first, let end = items.last else { return }
        if let epoch, epoch != new { faults.append("\(name) went from epoch \(epoch) to \(new) without being told") }
        // Only a snapshot lets a client begin in the middle of a log.
        if begin.seq != last + 1 { faults.append("\(name) got \(begin.seq) after \(last)") }
        (epoch, last) = (new, end.seq)
    }

    private mutating func replace(_ items: [HistoryItem], epoch new: String, cursor: Int64) {
        if let end = items.last, end.seq != cursor {
            faults.append("\(name) was given a snapshot to \(end.seq) with a cursor of \(cursor)")
        }
        // An older copy of the store that lacked the room did not report a cursor.
        if epoch == new, cursor < last, !mayHaveGoneBack {
            faults.append("\(name) was taken back from \(last) to \(cursor) by a snapshot")
        }
        (epoch, first, last, mayHaveMoved, mayHaveGoneBack) = (new, items.first?.seq ?? cursor + 1, cursor, false, false)
    }

    private mutating func open(_ event: HistoryEvent, epoch new: String, cursor: Int64) {
        let begin = event.count.map { cursor - $0 + 1 }
        defer {
            // If a writer does not report how many entries it has, its store must keep what it had.
            first = begin ?? (epoch == new && cursor == last && !mayHaveGoneBack ? first : cursor + 1)
            (epoch, last, mayHaveMoved, mayHaveGoneBack) = (new, cursor, false, false)
        }
        guard let epoch, !mayHaveGoneBack else { return }
        if !mayHaveMoved, epoch != new || cursor != last { faults.append("\(name) has \(cursor) of \(new) stored, and was told \(last)") }
        if epoch == new, cursor < last { faults.append("\(name) was told \(last), and has only \(cursor) stored") }
        // With another cursor the store may have got a snapshot that no one was told of.
        if epoch == new, cursor == last, let begin, begin > least(event, cursor) { faults.append(loss(event, cursor, begin)) }
    }

    /// The first number that must be stored.
    ///
    /// A store with a limit has dropped the earlier ones.
    private func least(_ event: HistoryEvent, _ cursor: Int64) -> Int64 { event.limit.map { max(first, cursor - $0 + 1) } ?? first }

    private func loss(_ event: HistoryEvent, _ cursor: Int64, _ begin: Int64) -> String {
        "\(name) has lost what it had from \(least(event, cursor)) on: its store begins at \(begin)"
    }

    /// The faults of this store at the end.
    ///
    /// Stores with the log's epoch, its end and a contiguous part before it all agree.
    func violations(_ log: RoomLogs) -> [String] {
        guard let dump else { return faults }
        var result = faults
        let (items, cursor) = (dump.items ?? [], dump.seq ?? 0)
        if let end = items.last, end.seq != cursor { result.append("\(name) has entries up to \(end.seq), and a cursor of \(cursor)") }
        if dump.epoch != epoch || cursor != last {
            result.append("\(name) has \(cursor) of \(dump.epoch ?? "") stored, and was told \(last) of \(epoch ?? "nothing")")
        }
        let begin = items.first?.seq ?? cursor + 1
        if begin > least(dump, cursor) { result.append(loss(dump, cursor, begin)) }
        if let head = log.head, dump.epoch != log.epoch || cursor != head {
            result.append("\(name) ends at \(cursor) of \(dump.epoch ?? ""), the log at \(head) of \(log.epoch ?? "")")
        } else if let other = log.other(than: items) {
            result.append("\(name) has another entry at \(other.seq) than \(other.id), which the log has")
        }
        return result
    }
}
