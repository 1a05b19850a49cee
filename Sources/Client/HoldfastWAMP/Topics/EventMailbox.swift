import Holdfast
import StreamCore

/// Where the events of one subscriber wait for it.
typealias EventMailbox = Mailbox<ValuesAndNotes<RawEvent, EventGap>, WAMPError>

extension EventBuffer {
    /// What does this.
    var line: ValuesAndNotes<RawEvent, EventGap> {
        switch self {
        case .dropOldest(let capacity): ValuesAndNotes(capacity: capacity, .dropOldest)
        case .dropNewest(let capacity): ValuesAndNotes(capacity: capacity, .dropNewest)
        case .fail(let capacity): ValuesAndNotes(capacity: capacity, .refuse)
        }
    }
}
