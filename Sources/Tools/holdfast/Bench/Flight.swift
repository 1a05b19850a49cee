/// The messages of one connection that wait for their replies, oldest first.
struct Flight: Hashable, Sendable {
    /// What a reply turned out to be.
    enum Reply: Hashable, Sendable {
        /// The one that was due, of a message meant to leave at this time.
        case expected(Duration)
        /// One that came out of its turn.
        case disordered
        /// One that nothing waited for.
        case unasked
    }

    /// When each of them was meant to leave; a ring.
    private var times: [Duration]
    /// The number of the oldest.
    private(set) var oldest = 0
    /// The number of the next to be sent.
    private(set) var next = 0

    /// Room for so many messages.
    init(depth: Int) { times = Array(repeating: .zero, count: depth) }

    /// How many were passed over by a reply to a later one, and are still without theirs.
    private(set) var passedOver = 0

    var count: Int { next - oldest }
    var isEmpty: Bool { count == 0 }
    var hasRoom: Bool { count < times.count }

    /// Takes a message that leaves now; there must be room.
    mutating func sent(meantFor time: Duration) {
        times[next % times.count] = time
        next += 1
    }

    /// Takes a reply with this number, of which only the bits in `mask` are known.
    mutating func received(_ number: UInt64, mask: UInt64) -> Reply {
        let ahead = (number &- UInt64(truncatingIfNeeded: oldest)) & mask
        guard ahead < UInt64(count) else {
            guard passedOver > 0 else { return .unasked }
            passedOver -= 1
            return .disordered
        }
        let time = times[oldest % times.count]
        oldest += Int(ahead) + 1
        passedOver += Int(ahead)
        return ahead == 0 ? .expected(time) : .disordered
    }

    /// Takes a reply that is no echo: it answers the oldest message, if any.
    mutating func receivedOther() { oldest = min(oldest + 1, next) }
}
