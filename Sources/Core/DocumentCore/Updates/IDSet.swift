/// A set of units, as ranges of clocks: what was deleted (Yjs: DeleteSet), or what a step of undo inserted.
struct IDSet: Sendable {
    struct Range: Equatable, Sendable {
        var client: Int32
        var clock: Int32
        var length: Int32
        var end: Int32 { clock + length }
    }

    private(set) var ranges: ContiguousArray<Range> = []
    private var isSorted = true

    var isEmpty: Bool { ranges.isEmpty }

    mutating func insert(_ id: BlockID, _ length: Int32) {
        if let last = ranges.last, last.client == id.client {
            if last.end == id.clock {
                ranges[ranges.count - 1].length += length
                return
            }
            if last.end > id.clock { isSorted = false }
        } else if let last = ranges.last, last.client > id.client {
            isSorted = false
        }
        ranges.append(Range(client: id.client, clock: id.clock, length: length))
    }

    mutating func formUnion(_ other: IDSet) {
        for range in other.ranges { insert(BlockID(client: range.client, clock: range.clock), range.length) }
    }

    mutating func removeAll() {
        ranges.removeAll(keepingCapacity: true)
        isSorted = true
    }

    /// Sorts by the number of the client and the clock, and joins ranges that touch or overlap.
    mutating func sort() {
        guard !isSorted else { return }
        isSorted = true
        ranges.sort { ($0.client, $0.clock) < ($1.client, $1.clock) }
        var joined: ContiguousArray<Range> = []
        for range in ranges {
            if let last = joined.last, last.client == range.client, last.end >= range.clock {
                joined[joined.count - 1].length = max(last.end, range.end) - last.clock
            } else {
                joined.append(range)
            }
        }
        ranges = joined
    }

    /// As ``sort()``, but the clients keep their order.
    mutating func sortWithinClients() {
        guard !isSorted else { return }
        let order = clients
        sort()
        let byClient = Dictionary(grouping: ranges, by: \.client)
        ranges = ContiguousArray(order.flatMap { byClient[$0] ?? [] })
        isSorted = false
    }

    /// The clients, in the order in which they came first.
    var clients: [Int32] {
        var seen: Set<Int32> = []
        return ranges.map(\.client).filter { seen.insert($0).inserted }
    }

    /// Whether the set holds a unit.
    ///
    /// The set must be sorted.
    func contains(_ id: BlockID) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2, range = ranges[middle]
            if (range.client, range.end) <= (id.client, id.clock) { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].client == id.client && ranges[low].clock <= id.clock
    }
}
