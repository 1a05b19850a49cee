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
    /// The app asked for it to be discarded, and was not told yet that it is.
    private var isDiscarding = false
    /// The program ended while the message was on its way: news of it may never have reached the app.
    private var mayBeUntold = false
    /// The store that held it was replaced by an older copy, the hub has forgotten its device, or it may have been discarded: it may be
    /// anywhere or nowhere.
    private var mayBeForgotten = false

    init(id: String, place: String) { (self.id, name) = (id, "\(place): \(id)") }

    mutating func note(_ event: HistoryEvent) {
        switch event.what {
        case .queued: (isQueued, isOver) = (true, false)
        case .acked: isAcked = true
        case .failed: (isOver, isUncertain) = (true, event.isUncertain ?? false)
        case .refused, .discarded: isOver = true
        case .retried: isOver = false
        case .discarding: isDiscarding = true
        default: break
        }
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
    func violation(in log: RoomLogs) -> String? {
        if isAcked || mayBeForgotten { return nil }
        if isOver {
            return isUncertain || !log.retains(id) ? nil : "\(name) was told to have failed or been discarded, and is in the log"
        }
        guard isQueued else { return nil }
        if !log.holds(id) { return "\(name) was in the outbox, is not in the log, and its app was told nothing" }
        return mayBeUntold ? nil : "\(name) is in the log, and its app was never told"
    }
}
