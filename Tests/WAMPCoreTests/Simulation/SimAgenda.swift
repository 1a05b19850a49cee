/// The planned events of a simulation; events with the same time keep their order.
struct SimAgenda<Event> {
    private var entries: [(due: Int64, event: Event)] = []

    /// The time of the next event.
    var next: Int64? { entries.last?.due }

    mutating func plan(_ event: Event, at due: Int64) {
        // The next event is the last element of the array.
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].due > due { low = middle + 1 } else { high = middle }
        }
        entries.insert((due, event), at: low)
    }

    mutating func pop() -> Event? { entries.popLast()?.event }
}
