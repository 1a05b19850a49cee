import Holdfast
import HoldfastRooms

/// The one place where the demo's events meet: keeps the ledger and prints the timeline.
actor DemoStage {
    private static let columns = 60
    private(set) var ledger = DemoLedger()
    private var chart = DemoChart()
    private let timeline: Timeline
    private let start = ContinuousClock.now

    init(timeline: Timeline) { self.timeline = timeline }

    func say(_ party: Timeline.Party, _ text: String, _ part: Style.Part? = nil) {
        StandardOutput.write(timeline.line(at: elapsed, party, text, part) + "\n")
    }

    // MARK: - What happens

    func sent(_ id: MessageID, _ text: String, by author: String) { ledger.sent(id, text, by: author) }

    /// Tells what has become of a message.
    func stage(_ stage: DeliveryStage, of text: String, by party: Timeline.Party, after time: Duration) {
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

    /// A client's app was shown an entry.
    func shown(_ entry: Entry, to party: Timeline.Party) {
        ledger.shown[party.rawValue, default: []].append(entry.id)
        if entry.user.text != party.rawValue { say(party, "  \(entry.user.text): \(entry.text ?? entry.type)", .received) }
    }

    func shownCount(to party: Timeline.Party) -> Int { ledger.shown[party.rawValue]?.count ?? 0 }

    /// How the connection of the first client stands.
    func stands(_ state: WebSocketState) { chart.stands(DemoChart.Standing(state), at: elapsed) }

    // MARK: - The end

    /// Takes what is on the disks, when all is over.
    func found(log: [Entry], stores: [String: [Entry]]) { (ledger.log, ledger.stores) = (log, stores) }

    /// Prints the chart and the totals; true if the promise was kept.
    func finish(messages: Int, clients: Int) -> Bool {
        for line in chart.lines(until: elapsed, columns: Self.columns) { say(.demo, line) }
        let kept = ledger.keepsPromise(messages: messages, clients: clients)
        say(.demo, ledger.summary + (ledger.isInOneOrder ? ", in one order for all" : ", NOT in one order"), kept ? .good : .bad)
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

/// How a connection stood and how long messages took to be stored, drawn over time in text.
struct DemoChart: Hashable, Sendable {
    /// How a connection stands.
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

    /// From this time on it stands so; times do not go back.
    mutating func stands(_ standing: Standing, at time: Duration) { changes.append(Change(time: time, standing: standing)) }

    /// A message was stored after so long.
    mutating func stored(after length: Duration, at time: Duration) { roundTrips.append(RoundTrip(time: time, length: length)) }

    /// A line for the standing, one for the round trips and one for the time, each `columns` wide and then its legend.
    func lines(until end: Duration, columns: Int) -> [String] {
        guard end > .zero, columns > 0 else { return [] }
        let legend = Standing.allCases.dropLast().map { "\($0.rawValue) \($0.name)" }.joined(separator: "  ")
        return [standings(end, columns) + "  " + legend, trips(end, columns), axis(end, columns)]
    }

    /// In each column what held for most of it.
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

    /// In each column the longest, each step of the bars a factor.
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
        // The eighth root of the whole range, so that the least is the first bar and the greatest the last.
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
