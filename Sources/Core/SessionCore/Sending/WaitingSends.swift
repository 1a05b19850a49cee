import MachineCore

/// The waiting messages, in one linked list per lane.
///
/// Every operation takes constant time.
struct WaitingSends: Hashable {
    struct Send: Hashable {
        let lane: Lane
        let byteCount: Int
        let submittedAt: Moment
        /// When its caller's patience ends; nil for never.
        let due: Moment?
        /// Its neighbours in the list.
        fileprivate(set) var older, newer: UInt64?
    }
    private struct Line: Hashable {
        var oldest, newest: UInt64?
        var volume = SendVolume()
    }

    private var sends: [UInt64: Send] = [:]
    private var lines = [Line](repeating: Line(), count: Lane.allCases.count)
    /// The volume of all lanes together.
    private(set) var volume = SendVolume()

    subscript(id: UInt64) -> Send? { sends[id] }

    /// The next message: the oldest of the highest lane that is not empty.
    var next: UInt64? { lines.last { $0.oldest != nil }?.oldest }

    func volume(of lane: Lane) -> SendVolume { lines[lane.index].volume }
    func oldest(of lane: Lane, except id: UInt64?) -> UInt64? {
        guard let oldest = lines[lane.index].oldest else { return nil }
        return oldest == id ? sends[oldest]?.newer : oldest
    }
    func newest(of lane: Lane, except id: UInt64?) -> UInt64? {
        guard let newest = lines[lane.index].newest else { return nil }
        return newest == id ? sends[newest]?.older : newest
    }

    mutating func append(_ id: UInt64, _ send: Send) {
        var send = send
        var line = lines[send.lane.index]
        send.older = line.newest
        if let newest = line.newest { sends[newest]?.newer = id } else { line.oldest = id }
        line.newest = id
        sends[id] = send
        account(line, of: send, +)
    }

    mutating func remove(_ id: UInt64) {
        guard let send = sends.removeValue(forKey: id) else { return }
        var line = lines[send.lane.index]
        if let older = send.older { sends[older]?.newer = send.newer } else { line.oldest = send.newer }
        if let newer = send.newer { sends[newer]?.older = send.older } else { line.newest = send.older }
        account(line, of: send, -)
    }

    private mutating func account(_ line: Line, of send: Send, _ combine: (SendVolume, SendVolume) -> SendVolume) {
        let one = SendVolume(count: 1, bytes: send.byteCount)
        lines[send.lane.index] = line
        lines[send.lane.index].volume = combine(line.volume, one)
        volume = combine(volume, one)
    }
}

extension WaitingSends.Send {
    init(lane: Lane, byteCount: Int, submittedAt: Moment, patience: Duration?) {
        self.init(lane: lane, byteCount: byteCount, submittedAt: submittedAt, due: patience.map { submittedAt + $0 })
    }
}

extension Lane {
    /// The lowest lane has index 0.
    fileprivate var index: Int {
        switch self {
        case .bulk: 0
        case .normal: 1
        case .urgent: 2
        }
    }
}

/// A number of messages and their size.
public struct SendVolume: Hashable, Sendable {
    /// The number of messages.
    public var count: Int
    /// The total size of the messages in bytes.
    public var bytes: Int

    /// Creates a volume of this many messages and bytes.
    public init(count: Int = 0, bytes: Int = 0) { (self.count, self.bytes) = (count, bytes) }

    /// Returns whether both the count and the bytes are within the capacity.
    public func fits(in capacity: SendVolume) -> Bool { count <= capacity.count && bytes <= capacity.bytes }

    static func + (lhs: SendVolume, rhs: SendVolume) -> SendVolume {
        SendVolume(count: lhs.count + rhs.count, bytes: lhs.bytes + rhs.bytes)
    }
    static func - (lhs: SendVolume, rhs: SendVolume) -> SendVolume {
        SendVolume(count: lhs.count - rhs.count, bytes: lhs.bytes - rhs.bytes)
    }
    static func += (lhs: inout SendVolume, rhs: SendVolume) { lhs = lhs + rhs }
    static func -= (lhs: inout SendVolume, rhs: SendVolume) { lhs = lhs - rhs }
}

/// Messages ordered by the end of their callers' patience, in a binary heap.
struct Deadlines: Hashable {
    struct Deadline: Hashable, Comparable {
        let moment: Moment
        let id: UInt64
        static func < (lhs: Deadline, rhs: Deadline) -> Bool { (lhs.moment, lhs.id) < (rhs.moment, rhs.id) }
    }
    /// No element comes before its parent.
    ///
    /// The parent of index i is at (i − 1) / 2.
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

    /// Removes obsolete deadlines from the front; removes all obsolete ones if there are more than `limit` deadlines.
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
        heap.sort()  // A sorted array is a heap.
    }
}
