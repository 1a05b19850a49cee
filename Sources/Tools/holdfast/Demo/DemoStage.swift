import Holdfast

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

    /// Says that the connection is open; answers with the messages that must be sent again.
    func opened(_ details: String) -> [Int] {
        ledger.opened(at: elapsed)
        let outage = ledger.outages.last.map { ", back after \($0.phrase)" } ?? ""
        say(.client, (ledger.openedCount == 1 ? "opened" : "reopened") + details + outage, .good)
        let unanswered = ledger.unanswered
        if !unanswered.isEmpty { say(.client, "sends again what was not answered: " + unanswered.map(String.init).joined(separator: ", ")) }
        return unanswered
    }

    func lost(_ text: String) {
        ledger.lost(at: elapsed)
        say(.client, text, .note)
    }

    func sent(_ number: Int) { ledger.sent(number, at: elapsed) }

    /// Takes the echo of a message and answers with how many have come; one in `step` is shown.
    func echoed(_ number: Int, step: Int) -> Int {
        guard let roundTrip = ledger.echoed(number, at: elapsed) else { return ledger.answeredCount }
        chart.echoed(after: roundTrip, at: elapsed)
        if ledger.answeredCount.isMultiple(of: step) {
            say(.client, "\(ledger.answeredCount.counted("message")) echoed, the last in \(roundTrip.phrase)")
        }
        return ledger.answeredCount
    }

    func stands(_ state: WebSocketState) { chart.stands(DemoChart.Standing(state), at: elapsed) }

    /// Prints the chart and the totals; true if the promise was kept.
    func finish(messages: Int, cuts: Int) -> Bool {
        for line in chart.lines(until: elapsed, columns: Self.columns) + ledger.summary { say(.demo, line) }
        let kept = ledger.keepsPromise(messages: messages, cuts: cuts)
        say(
            .demo,
            kept
                ? "every message arrived, although the link was cut \(cuts == 2 ? "twice" : cuts.counted("time"))"
                : "FAILED: not every message came back, or not every cut was survived",
            kept ? .good : .bad)
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
