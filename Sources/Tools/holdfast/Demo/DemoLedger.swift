/// What the demo sent, got back and survived: the facts that its promise is checked against.
///
/// Times are durations since the start. A message counts as safe only when its echo came; after a loss the unanswered ones
/// are due again, and an echo that comes twice is counted apart.
struct DemoLedger: Hashable, Sendable {
    private(set) var sentCount = 0
    private(set) var resentCount = 0
    private(set) var duplicateCount = 0
    private(set) var roundTrips: [Duration] = []
    private(set) var outages: [Duration] = []
    private(set) var openedCount = 0
    private var pending: [Int: Duration] = [:]
    private var answered: Set<Int> = []
    private var lostAt: Duration?

    /// Messages without an echo, in order: what must be sent again after a loss.
    var unanswered: [Int] { pending.keys.sorted() }
    var answeredCount: Int { answered.count }
    var isOpen: Bool { openedCount > 0 && lostAt == nil }

    mutating func opened(at time: Duration) {
        openedCount += 1
        if let lostAt { outages.append(time - lostAt) }
        lostAt = nil
    }

    /// Says when the connection was lost; failed attempts that follow belong to the same outage.
    mutating func lost(at time: Duration) {
        if lostAt == nil, openedCount > 0 { lostAt = time }
    }

    mutating func sent(_ number: Int, at time: Duration) {
        if pending.updateValue(time, forKey: number) == nil { sentCount += 1 } else { resentCount += 1 }
    }

    /// Takes an echo; its round trip, or nil when nothing waited for it.
    @discardableResult mutating func echoed(_ number: Int, at time: Duration) -> Duration? {
        guard let sentAt = pending.removeValue(forKey: number) else {
            if answered.contains(number) { duplicateCount += 1 }
            return nil
        }
        answered.insert(number)
        roundTrips.append(time - sentAt)
        return time - sentAt
    }

    /// The round trip that half of the messages beat.
    var medianRoundTrip: Duration? {
        roundTrips.isEmpty ? nil : roundTrips.sorted()[roundTrips.count / 2]
    }

    /// Whether every message from 1 to `messages` came back and the connection came back after each cut.
    func keepsPromise(messages: Int, cuts: Int) -> Bool {
        messages > 0 && answered == Set(1...messages) && pending.isEmpty && outages.count >= cuts && openedCount > cuts
    }

    /// The totals, one fact to a line.
    var summary: [String] {
        var lines = [
            "\(answeredCount) of \(sentCount.counted("message")) echoed, \(resentCount) sent again after a cut, "
                + "\(duplicateCount) echoed twice"
        ]
        if let median = medianRoundTrip, let worst = roundTrips.max() {
            lines.append("round trip: median \(median.phrase), longest \(worst.phrase)")
        }
        if !outages.isEmpty {
            lines.append("back by itself \(outages.count.counted("time")), after " + outages.map(\.phrase).joined(separator: ", "))
        }
        return lines
    }
}
