/// Checks the recorded histories of clients and hubs after all faults of a run have ended.
///
/// It knows the guarantees of `docs/rooms-protocol.md` and nothing of the code that implements them:
/// - An acked message is in the log, under the reported number and with the reported bytes (G1). An ack is never taken back.
/// - A message is in the log once, and so is each number of a device (G2). The log has no message that was not submitted.
/// - A log's numbers have no gaps, and the messages of a device are in their order (G3).
/// - What a client was told of a room and what it has stored is a contiguous part of one epoch, or was replaced (G4). It has all of it.
/// - At the end every message is stored, or its app was told that it is not. Nothing is pending, and all stores agree. A message is
///   reported as uncertain only where the evidence of its outcome was lost.
/// - Every client was told who is present (G5).
/// - Each event that the run requires happened at least the required number of times.
public struct HistoryChecker {
    private let minimums: [String: Int64]
    private var logs: [HistoryName: RoomLogs] = [:]
    private var trails: [Place: StoreTrail] = [:]
    private var messages: [Place: [String: MessageFate]] = [:]
    /// The messages submitted to a room by any writer: digests by message ID.
    private var submitted: [HistoryName: [String: String]] = [:]
    private var present: [HistoryName: Set<String>] = [:]
    private var told: [Place: Set<String>] = [:]
    /// A store or a log was restored, or a hub has forgotten devices, so some outcomes can no longer be known.
    private var isDoubtful = false
    private var verdict = HistoryVerdict()

    /// One writer in one room.
    private struct Place: Hashable {
        var who: HistoryName
        var room: HistoryName
    }

    /// Creates a checker that also requires certain events.
    ///
    /// - Parameter minimums: The least number of each counted event, by its name.
    public init(minimums: [String: Int64] = [:]) { self.minimums = minimums }

    /// Takes the next event of a writer.
    public mutating func note(_ event: HistoryEvent) {
        switch event.what {
        case .counted: verdict.counts[event.text ?? "", default: 0] += event.count ?? 1
        case .broken: verdict.violations.append("\(event.who): \(event.text ?? "")")
        case .died: break
        case .started:
            for place in places(of: event.who) {
                trails[place]?.starts()
                for id in messages[place, default: [:]].keys { messages[place]?[id]?.starts() }
            }
        case .slept:
            isDoubtful = true
            for place in places(of: event.who) { for id in messages[place, default: [:]].keys { messages[place]?[id]?.sleeps() } }
        case .restored:
            isDoubtful = true
            for place in places(of: event.who) {
                trails[place]?.isRestored()
                for id in messages[place, default: [:]].keys { messages[place]?[id]?.isRestored() }
            }
        default: note(event, room: HistoryName(event.room ?? ""))
        }
    }

    private func places(of who: String) -> [Place] {
        let name = HistoryName(who)
        return Set(trails.keys).union(messages.keys).filter { $0.who == name }
    }

    private mutating func note(_ event: HistoryEvent, room: HistoryName) {
        let place = Place(who: HistoryName(event.who), room: room)
        switch event.what {
        case .submitted:
            let digest = event.digest ?? ""
            if let id = event.id, submitted[room, default: [:]].updateValue(digest, forKey: id) != nil {
                verdict.violations.append("\(event.who) in \(room): \(id) was submitted twice; the history is of no use")
            }
            noteMessage(event, at: place)
        case .queued, .refused, .acked, .failed, .retried, .discarding, .discarded: noteMessage(event, at: place)
        case .applied, .replaced, .paged, .forgot, .opened, .store:
            var trail = trails[place] ?? StoreTrail(name: "\(event.who) in \(room)")
            trail.note(event)
            trails[place] = trail
            if let epoch = event.epoch ?? trail.epoch {
                logs[room, default: RoomLogs(room: "\(room)")].see(event.items ?? [], epoch: epoch, by: event.who)
            }
        case .outbox:
            guard let names = event.names, !names.isEmpty else { return }
            verdict.violations.append("\(event.who) in \(room): \(names.count) still wait to be sent, first \(names[0])")
        case .members: told[place] = Set(event.names ?? [])
        case .present: present[room, default: []].formUnion(event.names ?? [])
        case .log: logs[room, default: RoomLogs(room: "\(room)")].dump(event)
        case .rewound:
            // The client then takes a new device in all rooms, and does not ask for every outcome.
            isDoubtful = true
            logs[room, default: RoomLogs(room: "\(room)")].wasRewound = true
            if let epoch = event.epoch { logs[room]?.goBack(to: epoch) }
        case .counted, .broken, .died, .started, .slept, .restored: break
        }
    }

    private mutating func noteMessage(_ event: HistoryEvent, at place: Place) {
        guard let id = event.id else { return }
        messages[place, default: [:]][id, default: MessageFate(id: id, place: "\(place.who) in \(place.room)")].note(event)
        if event.what == .acked, let epoch = event.epoch {
            logs[place.room, default: RoomLogs(room: "\(place.room)")].acked(id, epoch: epoch, seq: event.seq ?? 0, by: event.who)
        }
    }

    /// The verdict after the last event.
    public func judged() -> HistoryVerdict {
        var result = verdict
        for room in Set(logs.keys).union(submitted.keys).sorted() {
            let log = logs[room] ?? RoomLogs(room: "\(room)")
            result.violations += log.violations(submitted: submitted[room, default: [:]])
            for (_, outcome) in messages.filter({ $0.key.room == room }).sorted(by: { $0.key.who < $1.key.who }) {
                let messages = outcome.values.sorted { $0.name < $1.name }
                result.violations += messages.flatMap { $0.violations(in: log, isDoubtful: isDoubtful) }
            }
            for (_, trail) in trails.filter({ $0.key.room == room }).sorted(by: { $0.key.who < $1.key.who }) {
                result.violations += trail.violations(log)
            }
        }
        for (place, names) in told.sorted(by: { ($0.key.room, $0.key.who) < ($1.key.room, $1.key.who) }) {
            guard let truth = present[place.room], truth != names else { continue }
            result.violations.append(
                "\(place.who) in \(place.room): told that \(names.sorted()) are present, in truth \(truth.sorted())")
        }
        for (name, least) in minimums.sorted(by: { $0.key < $1.key }) where result.counts[name, default: 0] < least {
            result.violations.append("too little happened: \(name) \(result.counts[name, default: 0]), at least \(least) wanted")
        }
        return result
    }
}
