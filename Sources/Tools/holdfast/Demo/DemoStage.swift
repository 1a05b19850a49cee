import Holdfast
import HoldfastRooms
import HoldfastTerminal

/// Collects the events of the demo: keeps the record and prints the timeline.
actor DemoStage {
    private static let columns = 60
    private(set) var record = DemoRecord()
    private var chart = DemoChart()
    private let timeline: DemoTimeline
    private let start = ContinuousClock.now

    init(timeline: DemoTimeline) { self.timeline = timeline }

    func say(_ party: DemoTimeline.Party, _ text: String, _ part: Style.Part? = nil) {
        StandardOutput.write(timeline.line(at: elapsed, party, text, part) + "\n")
    }

    // MARK: - What happens

    func sent(_ id: MessageID, _ text: String, by author: String) { record.sent(id, text, by: author) }

    /// Prints the new delivery stage of a message.
    func stage(_ stage: DeliveryStage, of text: String, by party: DemoTimeline.Party, after time: Duration) {
        switch stage {
        case .submitted, .sent: break
        case .queued: say(party, "… \(text)", .dim)
        case .stored(let position), .seen(let position, _):
            chart.stored(after: time, at: elapsed)
            say(party, "✓ \(text)  stored as \(position.seq) after \(time.phrase)", .good)
        case .failed(let failure): say(party, "✗ \(text)  \(failure.text)", .bad)
        case .discarded: say(party, "✗ \(text)  discarded", .bad)
        }
    }

    /// Records that a client's app was shown an entry.
    func shown(_ entry: Entry, to party: DemoTimeline.Party) {
        record.shown[party.rawValue, default: []].append(entry.id)
        if entry.user.text != party.rawValue { say(party, "  \(entry.user.text): \(entry.text ?? entry.type)", .received) }
    }

    func shownCount(to party: DemoTimeline.Party) -> Int { record.shown[party.rawValue]?.count ?? 0 }

    /// Records the connection state of the first client.
    func stands(_ state: WebSocketState) { chart.stands(DemoChart.Standing(state), at: elapsed) }

    // MARK: - The end

    /// Sets the entries found on the disks at the end.
    func found(log: [Entry], stores: [String: [Entry]]) { (record.log, record.stores) = (log, stores) }

    /// Prints the chart and the totals; returns true if every message arrived once and in order.
    func finish(messages: Int, clients: Int) -> Bool {
        for line in chart.lines(until: elapsed, columns: Self.columns) { say(.demo, line) }
        let kept = record.keepsPromise(messages: messages, clients: clients)
        say(.demo, record.summary + (record.isInOneOrder ? ", in one order for all" : ", NOT in one order"), kept ? .good : .bad)
        if !kept { say(.demo, "FAILED: not every message arrived once, in one order", .bad) }
        return kept
    }

    private var elapsed: Duration { start.duration(to: .now) }
}

extension DemoChart.Standing {
    fileprivate init(_ state: WebSocketState) {
        self =
            switch state {
            case .connected: .connected
            case .connecting: .connecting
            case .waiting, .held: .waiting
            case .disconnected, .closing, .closed: .none
            }
    }
}

/// A text chart of a connection's state and of the times until messages were stored.
struct DemoChart: Hashable, Sendable {
    /// The state of a connection.
    enum Standing: Character, CaseIterable, Hashable, Sendable {
        case connected = "█"
        case connecting = "▒"
        case waiting = "░"
        case none = " "

        var name: String {
            switch self {
            case .connected: "connected"
            case .connecting: "connecting"
            case .waiting: "waiting"
            case .none: ""
            }
        }
    }
    private struct Change: Hashable {
        let time: Duration
        let standing: Standing
    }
    private struct RoundTrip: Hashable {
        let time: Duration
        let length: Duration
    }
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    private var changes: [Change] = []
    private var roundTrips: [RoundTrip] = []

    /// Adds a change of state; times must not go back.
    mutating func stands(_ standing: Standing, at time: Duration) { changes.append(Change(time: time, standing: standing)) }

    /// Adds the time that a message took to be stored.
    mutating func stored(after length: Duration, at time: Duration) { roundTrips.append(RoundTrip(time: time, length: length)) }

    /// Returns a line for the state, one for the storage times and one for the time axis, each `columns` wide plus a legend.
    func lines(until end: Duration, columns: Int) -> [String] {
        guard end > .zero, columns > 0 else { return [] }
        let legend = Standing.allCases.dropLast().map { "\($0.rawValue) \($0.name)" }.joined(separator: "  ")
        return [standings(end, columns) + "  " + legend, trips(end, columns), axis(end, columns)]
    }

    /// Returns in each column the state that lasted longest.
    private func standings(_ end: Duration, _ columns: Int) -> String {
        String(
            (0..<columns).map { column in
                let (from, to) = (end * column / columns, end * (column + 1) / columns)
                let held = Standing.allCases.map { standing in (standing, time(of: standing, from, to)) }
                return held.max { $0.1 < $1.1 }?.0.rawValue ?? " "
            })
    }

    private func time(of standing: Standing, _ from: Duration, _ to: Duration) -> Duration {
        changes.indices.reduce(.zero) { sum, index in
            guard changes[index].standing == standing else { return sum }
            let until = index + 1 < changes.count ? changes[index + 1].time : to
            return sum + max(.zero, min(until, to) - max(changes[index].time, from))
        }
    }

    /// Returns in each column a bar for the longest time, on a logarithmic scale.
    private func trips(_ end: Duration, _ columns: Int) -> String {
        var longest = [Duration?](repeating: nil, count: columns)
        for trip in roundTrips {
            let column = min(Int(trip.time / end * Double(columns)), columns - 1)
            longest[column] = max(longest[column] ?? .zero, trip.length)
        }
        let shown = longest.compactMap(\.self)
        guard let least = shown.min(), let greatest = shown.max() else { return String(repeating: " ", count: columns) }
        let bars = longest.map { $0.map { Self.bar($0, from: least, to: greatest) } ?? " " }
        return String(bars) + "  until stored: \(Self.bars[0]) \(least.phrase) … \(Self.bars[Self.bars.count - 1]) \(greatest.phrase)"
    }

    private static func bar(_ length: Duration, from least: Duration, to greatest: Duration) -> Character {
        guard least > .zero, greatest > least else { return bars[0] }
        var (step, bound) = (0, least)
        // The eighth root of the range, so that the smallest value gets the first bar and the greatest the last.
        let factor = eighthRoot(of: greatest / least)
        while step < bars.count - 1, length > bound * factor { (step, bound) = (step + 1, bound * factor) }
        return bars[step]
    }

    private static func eighthRoot(of value: Double) -> Double { value.squareRoot().squareRoot().squareRoot() }

    private func axis(_ end: Duration, _ columns: Int) -> String {
        var line = ""
        for quarter in 0..<4 {
            let mark = "╵\((end * quarter / 4).phrase)"
            line = line.paddedRight(to: columns * quarter / 4) + mark
        }
        return line.paddedRight(to: columns) + "  time"
    }
}
