/// The planned events of a simulated world, by time.
///
/// Events at the same time happen in the order in which they were planned.
struct SimAgenda {
    /// A heap of due times in milliseconds and sequence numbers, combined into one number.
    ///
    /// The least is first.
    private var keys: [UInt64] = []
    /// The position of each key's event.
    private var slots: [Int] = []
    private var events: [SimWorld.Event?] = []
    private var free: [Int] = []
    private var count: UInt64 = 0

    /// The time of the next event.
    var next: Int64? { keys.isEmpty ? nil : Int64(keys[0] >> 32) }

    mutating func plan(_ event: SimWorld.Event, at due: Int64) {
        let slot: Int
        if let last = free.popLast() {
            slot = last
            events[slot] = event
        } else {
            slot = events.count
            events.append(event)
        }
        count += 1
        let key = UInt64(due) << 32 | count
        keys.append(key)
        slots.append(slot)
        var child = keys.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if keys[parent] < key { break }
            (keys[child], slots[child]) = (keys[parent], slots[parent])
            child = parent
        }
        (keys[child], slots[child]) = (key, slot)
    }

    mutating func pop() -> SimWorld.Event? {
        guard let slot = slots.first, let key = keys.popLast(), let moved = slots.popLast() else { return nil }
        if !keys.isEmpty {
            var parent = 0
            while true {
                var child = 2 * parent + 1
                if child >= keys.count { break }
                if child + 1 < keys.count, keys[child + 1] < keys[child] { child += 1 }
                if key < keys[child] { break }
                (keys[parent], slots[parent]) = (keys[child], slots[child])
                parent = child
            }
            (keys[parent], slots[parent]) = (key, moved)
        }
        free.append(slot)
        return events[slot].take()
    }
}
