import NIOCore

/// An object on an event loop that wants to be called at a certain time.
protocol Alarmed: AnyObject {
    /// The index of its alarm among those of the loop; nil without an alarm.
    ///
    /// Only ``LoopAlarms`` changes it.
    var alarmIndex: Int? { get set }

    /// Called once, at the time of the alarm or a little later; the alarm has been removed by then.
    func alarmRang()
}

/// The alarms of all connections of one event loop, which share one timer of the loop.
///
/// A timer of the loop needs several objects, and cancelling it searches all timers of the loop: with thousands of idle connections, each
/// new one would slow down all others. Here an alarm is an entry of a heap, and knows its index.
struct LoopAlarms {
    private struct Entry {
        var at: NIODeadline
        let owner: any Alarmed
    }
    /// A binary heap, the earliest first.
    private var heap: [Entry] = []

    /// The number of alarms.
    var count: Int { heap.count }

    /// The time of the first alarm.
    var next: NIODeadline? { heap.first?.at }

    /// Sets the alarm of `owner`, and replaces an existing one.
    mutating func set(_ owner: any Alarmed, at: NIODeadline) {
        if let index = owner.alarmIndex {
            heap[index].at = at
            settle(index)
        } else {
            heap.append(Entry(at: at, owner: owner))
            owner.alarmIndex = heap.count - 1
            rise(heap.count - 1)
        }
    }

    /// Removes the alarm of `owner`, if it has one.
    mutating func remove(_ owner: any Alarmed) {
        guard let index = owner.alarmIndex else { return }
        owner.alarmIndex = nil
        let last = heap.removeLast()
        guard index < heap.count else { return }
        put(last, at: index)
        settle(index)
    }

    /// Removes the first alarm that is due by `now`, and returns its owner.
    mutating func takeDue(by now: NIODeadline) -> (any Alarmed)? {
        guard let first = heap.first, first.at <= now else { return nil }
        remove(first.owner)
        return first.owner
    }

    private mutating func settle(_ index: Int) {
        rise(index)
        sink(index)
    }

    private mutating func rise(_ index: Int) {
        var index = index
        while index > 0, heap[index].at < heap[(index - 1) / 2].at {
            swap(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ index: Int) {
        var index = index
        while true {
            let left = 2 * index + 1
            guard left < heap.count else { return }
            let child = left + 1 < heap.count && heap[left + 1].at < heap[left].at ? left + 1 : left
            guard heap[child].at < heap[index].at else { return }
            swap(index, child)
            index = child
        }
    }

    private mutating func swap(_ one: Int, _ other: Int) {
        let entry = heap[one]
        put(heap[other], at: one)
        put(entry, at: other)
    }

    private mutating func put(_ entry: Entry, at index: Int) {
        heap[index] = entry
        entry.owner.alarmIndex = index
    }
}
