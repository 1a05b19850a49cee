/// What happens next in a simulated world, and when; what is due at the same time happens in the order in which it was planned.
struct SimAgenda<Event> {
    private var entries: [(due: Int64, event: Event)] = []

    /// When the next thing happens.
    var next: Int64? { entries.last?.due }

    mutating func plan(_ event: Event, at due: Int64) {
        // The first to happen is the last of the array.
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].due > due { low = middle + 1 } else { high = middle }
        }
        entries.insert((due, event), at: low)
    }

    mutating func pop() -> Event? { entries.popLast()?.event }
}
