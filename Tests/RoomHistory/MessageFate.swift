/// What an app was told of one of its messages.
struct MessageFate: Hashable, Sendable {
    /// Whose it is, for people.
    let name: String
    private let id: String
    private var isQueued = false
    private var isAcked = false
    /// Told that it will not be sent, or that it has left the outbox.
    private var isOver = false
    private var isUncertain = false
    /// Told to have failed for certain before: of what was sent in its place, only to burn its number, a hub does not know for ever.
    private var wasGivenUp = false
    /// The app asked for it to be discarded, and was not told yet that it is.
    private var isDiscarding = false
    /// The program ended while the message was on its way: news of it may never have reached the app.
    private var mayBeUntold = false
    /// The store that held it was replaced by an older copy, the hub has forgotten its device, or it may have been discarded: it may be
    /// anywhere or nowhere.
    private var mayBeForgotten = false
    private var faults: [String] = []

    init(id: String, place: String) { (self.id, name) = (id, "\(place): \(id)") }

    mutating func note(_ event: HistoryEvent) {
        switch event.what {
        case .queued: (isQueued, isOver, isUncertain, wasGivenUp, isDiscarding) = (true, false, false, false, false)
        case .acked: isAcked = true
        case .failed:
            takeBack(event)
            (isOver, isUncertain) = (true, event.isUncertain ?? false)
            if !isUncertain { wasGivenUp = true }
        case .discarded:
            takeBack(event)
            // One that nobody knows of does not become certain by that.
            (isOver, isDiscarding) = (true, false)
        case .refused: isOver = true
        case .retried: isOver = false
        case .discarding: isDiscarding = true
        default: break
        }
    }

    /// What was told to be stored is told to be something else; only an older copy of a store does not know better.
    private mutating func takeBack(_ event: HistoryEvent) {
        if isAcked, !mayBeForgotten { faults.append("\(name) was acked, and then its app was told \(event.what.rawValue)") }
    }

    mutating func starts() {
        if isQueued, !isAcked, !isOver { mayBeUntold = true }
        if isDiscarding { mayBeForgotten = true }
    }

    mutating func sleeps() { if !isAcked { mayBeForgotten = true } }
    mutating func isRestored() { (mayBeForgotten, isOver) = (true, false) }

    /// What is wrong with it at the end.
    ///
    /// The log's own rules see to what was acked.
    ///
    /// - Parameter isDoubtful: Whether a store or a log was put back, or a hub has forgotten devices: then nobody can say what became of a
    ///   message whose ack was lost.
    func violations(in log: RoomLogs, isDoubtful: Bool) -> [String] {
        if isAcked || mayBeForgotten { return faults }
        if isOver, isUncertain {
            if isDoubtful { return faults }
            // What the hub still has it can tell of, and what it has never lost, too.
            if log.retains(id) { return faults + ["\(name) was told to be uncertain, and the log has it still"] }
            return log.wasTrimmed || wasGivenUp
                ? faults : faults + ["\(name) was told to be uncertain, and nothing was ever lost that could tell"]
        }
        if isOver { return log.retains(id) ? faults + ["\(name) was told to have failed or been discarded, and is in the log"] : faults }
        guard isQueued else { return faults }
        if !log.holds(id) { return faults + ["\(name) was in the outbox, is not in the log, and its app was told nothing"] }
        return mayBeUntold ? faults : faults + ["\(name) is in the log, and its app was never told"]
    }
}
