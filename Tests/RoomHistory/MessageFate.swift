/// What an app was told about one of its messages.
struct MessageFate: Hashable, Sendable {
    /// The writer, the room and the message's ID, for people.
    let name: String
    private let id: String
    private var isQueued = false
    private var isAcked = false
    /// The app was told that it will not be sent, or that it has left the outbox.
    private var isOver = false
    private var isUncertain = false
    /// The app was told before that it failed.
    ///
    /// A hub does not remember for ever the void that then took its number.
    private var wasGivenUp = false
    /// The app asked to discard it, and was not told yet that this was done.
    private var isDiscarding = false
    /// The program ended while the message was pending, so a report may never have reached the app.
    private var mayBeUntold = false
    /// The message may be stored or lost.
    ///
    /// Its store was replaced by an older copy, the hub has forgotten its device, or it may have been
    /// discarded.
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
            // A discarded uncertain message stays uncertain.
            (isOver, isDiscarding) = (true, false)
        case .refused: isOver = true
        case .retried: isOver = false
        case .discarding: isDiscarding = true
        default: break
        }
    }

    /// Notes a fault if a message reported as stored gets another outcome.
    ///
    /// Only an older copy of a store may do so.
    private mutating func takeBack(_ event: HistoryEvent) {
        if isAcked, !mayBeForgotten { faults.append("\(name) was acked, and then its app was told \(event.what.rawValue)") }
    }

    mutating func starts() {
        if isQueued, !isAcked, !isOver { mayBeUntold = true }
        if isDiscarding { mayBeForgotten = true }
    }

    mutating func sleeps() { if !isAcked { mayBeForgotten = true } }
    mutating func isRestored() { (mayBeForgotten, isOver) = (true, false) }

    /// The faults of this message at the end.
    ///
    /// The checks of the log cover acked messages.
    ///
    /// - Parameter isDoubtful: Whether a store or a log was restored, or a hub has forgotten devices. Then the outcome of a message whose
    ///   ack was lost cannot be known.
    func violations(in log: RoomLogs, isDoubtful: Bool) -> [String] {
        if isAcked || mayBeForgotten { return faults }
        if isOver, isUncertain {
            if isDoubtful { return faults }
            // The hub can report what it still has and what it has never lost.
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
