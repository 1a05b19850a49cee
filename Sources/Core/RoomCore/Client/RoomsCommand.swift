/// What an app wants of a client of rooms, and what became of what that has asked for.
package enum RoomsCommand: Hashable, Sendable {
    /// The store is open: which device it is, how many entries of a room it keeps, and which rooms have something in their outbox, joined
    /// or not. Only the first counts; what is wanted before waits for it.
    case storeOpened(DeviceID, keeps: Int64, waiting: [RoomName])
    /// A fresh token, to show on the present connection, as ``RoomsEvent/tokenWanted`` asked.
    case token(String)
    /// The app wants to be in a room; its stored part is loaded first.
    case join(RoomName, JoinWish)
    /// The app no longer wants to be in a room. What is in its outbox is still sent when the room is joined again.
    case leave(RoomName)
    /// The app is about to end for good: the hub is told that this device leaves all rooms, so that others see it at once. Nothing more is
    /// said on the present connection, and nothing that it says counts. What is wanted and what is stored stay as they are.
    case farewell
    /// The app submits a message; ``RoomsNews/queued(_:_:cseq:)`` follows when it is in the outbox, ``RoomsNews/refused(_:_:_:)`` if it
    /// cannot be.
    case submit(RoomName, MessageID, sent: Int64, Publication.Content)
    /// The app wants a failed message to be sent after all, under a new number.
    case retry(RoomName, MessageID)
    /// The app no longer wants a message. One that may be on its way cannot be called back: it is burnt if the hub has not got it.
    case discard(RoomName, MessageID)
    /// The app wants nothing of a room any more: it leaves, and what is stored of it goes, but for its outbox and its next number.
    case forget(RoomName)
    /// The user has read up to an entry.
    case read(RoomName, upTo: Int64)
    /// The user types, or has stopped.
    case typing(RoomName, Bool)
    /// How the user wants to be seen.
    case presence(RoomName, Presence)
    /// A signal to send, if the room is live.
    case signal(RoomName, Signal)
    /// Older entries are wanted, under a number of the caller's: ``RoomsNews/page(_:_:reachedBeginning:)`` or ``RoomsNews/noPage(_:_:)``
    /// follows.
    case history(RoomName, reference: Int64, before: Int64, limit: Int64)
    /// What is stored of a room, as ``RoomsEvent/load(_:)`` asked.
    case loaded(RoomName, StoredRoom)
    /// It could not be read.
    case notLoaded(RoomName)
    /// A transaction is on disk.
    case committed(Int64)
    /// A transaction was not written; nothing that was ordered after it has been either.
    case notCommitted(Int64, full: Bool)
    /// What the calendar says, in milliseconds since 1970 UTC; from time to time, and first of all.
    case calendar(Int64)
}

/// What a client of rooms says of itself when a connection opens.
package struct RoomsGreeting: Hashable, Sendable {
    /// The token to show; nil: none is needed.
    package var token: String?
    /// What the calendar says, in milliseconds since 1970 UTC: the device may have slept.
    ///
    /// Nil: as before.
    package var calendar: Int64?

    package init(token: String?, calendar: Int64? = nil) { (self.token, self.calendar) = (token, calendar) }
}

/// What an app wants of a room.
package struct JoinWish: Hashable, Sendable {
    /// Where to begin if nothing is stored.
    package enum Start: Hashable, Sendable {
        /// With what comes from now on.
        case now
        /// With so many of the last entries.
        case last(Int64)
        /// With all that is retained.
        case beginning
    }
    package var start: Start
    /// How many missed entries to fetch one by one, before a snapshot is better; 0: as many as there are.
    package var limit: Int64
    package var wantsPresence: Bool
    package var presence: Presence

    package init(start: Start = .last(50), limit: Int64 = 10_000, wantsPresence: Bool = true, presence: Presence = Presence()) {
        (self.start, self.limit, self.wantsPresence, self.presence) = (start, limit, wantsPresence, presence)
    }
}
