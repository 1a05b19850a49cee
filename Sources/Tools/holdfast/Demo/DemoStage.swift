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
