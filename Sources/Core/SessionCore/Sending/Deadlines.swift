import MachineCore

/// Messages by the moments at which their callers' patience ends: a binary heap.
struct Deadlines: Hashable {
    struct Deadline: Hashable, Comparable {
        let moment: Moment
        let id: UInt64
        static func < (lhs: Deadline, rhs: Deadline) -> Bool { (lhs.moment, lhs.id) < (rhs.moment, rhs.id) }
    }
    /// No element comes before its parent, which stands at half its position.
    private var heap: [Deadline] = []

    var first: Deadline? { heap.first }
    var count: Int { heap.count }

    mutating func insert(_ deadline: Deadline) {
        heap.append(deadline)
        var child = heap.count - 1
        while child > 0, heap[child] < heap[(child - 1) / 2] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes the needless ones that come first, and all of them if there are more than `limit` deadlines.
    mutating func drop(atMost limit: Int, where isNeedless: (Deadline) -> Bool) {
        if count > limit { removeAll(where: isNeedless) }
        while let first, isNeedless(first) { removeFirst() }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            let children = (2 * parent + 1..<2 * parent + 3).clamped(to: 0..<heap.count)
            guard let child = children.min(by: { heap[$0] < heap[$1] }), heap[child] < heap[parent] else { return }
            heap.swapAt(parent, child)
            parent = child
        }
    }

    private mutating func removeAll(where isNeedless: (Deadline) -> Bool) {
        heap.removeAll(where: isNeedless)
        heap.sort()  // What is sorted is a heap.
    }
}
