/// What a client was told of a room, step by step, and what it has stored at the end.
struct StoreTrail: Sendable {
    private let name: String
    /// The epoch of what is stored.
    private(set) var epoch: String?
    private var last: Int64 = 0
    /// The program was started anew, and has not said yet where its store stands.
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
        case .opened: open(epoch: event.epoch ?? "", cursor: event.seq ?? 0)
        case .forgot: (epoch, last) = (nil, 0)
        case .store: dump = event
        default: break
        }
    }

    private mutating func apply(_ items: [HistoryItem], epoch new: String) {
        guard let first = items.first, let end = items.last else { return }
        if let epoch, epoch != new { faults.append("\(name) went from epoch \(epoch) to \(new) without being told") }
        // Nobody begins in the middle of a log without a snapshot.
        if first.seq != last + 1 { faults.append("\(name) got \(first.seq) after \(last)") }
        (epoch, last) = (new, end.seq)
    }

    private mutating func replace(_ items: [HistoryItem], epoch new: String, cursor: Int64) {
        if let end = items.last, end.seq != cursor {
            faults.append("\(name) was given a snapshot to \(end.seq) with a cursor of \(cursor)")
        }
        if epoch == new, cursor < last { faults.append("\(name) was taken back from \(last) to \(cursor) by a snapshot") }
        (epoch, last) = (new, cursor)
    }

    private mutating func open(epoch new: String, cursor: Int64) {
        defer { (epoch, last, mayHaveMoved, mayHaveGoneBack) = (new, cursor, false, false) }
        guard let epoch, !mayHaveGoneBack else { return }
        if !mayHaveMoved, epoch != new || cursor != last { faults.append("\(name) has \(cursor) of \(new) stored, and was told \(last)") }
        if epoch == new, cursor < last { faults.append("\(name) was told \(last), and has only \(cursor) stored") }
    }

    func violations(_ log: RoomLogs) -> [String] {
        guard let dump else { return faults }
        var result = faults
        let (items, cursor) = (dump.items ?? [], dump.seq ?? 0)
        if let end = items.last, end.seq != cursor { result.append("\(name) has entries up to \(end.seq), and a cursor of \(cursor)") }
        if dump.epoch != epoch || cursor != last {
            result.append("\(name) has \(cursor) of \(dump.epoch ?? "") stored, and was told \(last) of \(epoch ?? "nothing")")
        }
        if let head = log.head, dump.epoch != log.epoch || cursor != head {
            result.append("\(name) ends at \(cursor) of \(dump.epoch ?? ""), the log at \(head) of \(log.epoch ?? "")")
        }
        return result
    }
}
