import MachineCore

/// The messages that wait, in one line for each lane.
///
/// Every operation takes the same time however many there are.
struct WaitingSends: Hashable {
    struct Send: Hashable {
        let lane: Lane
        let byteCount: Int
        let submittedAt: Moment
        /// When its caller's patience ends; nil for never.
        let due: Moment?
        /// Its neighbours in the line.
        fileprivate(set) var older, newer: UInt64?
    }
    private struct Line: Hashable {
        var oldest, newest: UInt64?
        var volume = SendVolume()
    }

    private var sends: [UInt64: Send] = [:]
    private var lines = [Line](repeating: Line(), count: Lane.allCases.count)
    /// Of all lanes together.
    private(set) var volume = SendVolume()

    subscript(id: UInt64) -> Send? { sends[id] }

    /// The one to go next: the oldest of the highest lane that has any.
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
    /// The lowest is 0.
    fileprivate var index: Int {
        switch self {
        case .bulk: 0
        case .normal: 1
        case .urgent: 2
        }
    }
}
