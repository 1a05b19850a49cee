/// A command from the app to the rooms machine, or an answer to an earlier request of the machine.
package enum RoomsCommand: Hashable, Sendable {
    /// The store is open.
    ///
    /// It names the device ID, the number of entries that it keeps per room, and the rooms with messages in the outbox, joined or not.
    /// Only the first such command counts. Earlier commands wait for it.
    case storeOpened(DeviceID, keeps: Int64, waiting: [RoomName])
    /// A new token to send on the current connection, in answer to ``RoomsEvent/tokenWanted``.
    case token(String)
    /// Joins a room; the client loads its stored state first.
    case join(RoomName, JoinRequest)
    /// Leaves a room.
    ///
    /// The messages in its outbox are sent when the room is joined again.
    case leave(RoomName)
    /// Tells the hub that this device leaves all rooms, so that others see it at once; used before the app exits.
    ///
    /// The client then sends nothing more on the current connection and ignores what the hub sends. Join requests and stored data stay as they
    /// are.
    case prepareToClose
    /// Submits a message.
    ///
    /// ``RoomsNews/queued(_:_:cseq:)`` follows when the message is in the outbox, ``RoomsNews/refused(_:_:_:)`` if the outbox does not
    /// accept it.
    case submit(RoomName, MessageID, sent: Int64, Publication.Content)
    /// Sends a failed message after all, under a new number.
    case retry(RoomName, MessageID)
    /// Discards a message.
    ///
    /// A message that may have been sent cannot be recalled. If the hub does not have it, its number is voided.
    case discard(RoomName, MessageID)
    /// Leaves a room and deletes its stored data, except the outbox and the next message number.
    case forget(RoomName)
    /// Reports that the user has read up to an entry.
    case read(RoomName, upTo: Int64)
    /// Reports that the user types, or has stopped typing.
    case typing(RoomName, Bool)
    /// Sets the user's presence.
    case presence(RoomName, Presence)
    /// Sends a signal, if the room is live.
    case signal(RoomName, Signal)
    /// Requests older entries, under a reference number of the caller.
    ///
    /// ``RoomsNews/page(_:_:reachedBeginning:)`` or ``RoomsNews/noPage(_:_:)`` follows.
    case history(RoomName, reference: Int64, before: Int64, limit: Int64)
    /// The stored state of a room, in answer to ``RoomsEvent/load(_:)``.
    case loaded(RoomName, StoredRoom)
    /// The store could not read a room, in answer to ``RoomsEvent/load(_:)``.
    case notLoaded(RoomName)
    /// The store has written a transaction to disk.
    case committed(Int64)
    /// The store has not written a transaction, nor any transaction that was ordered after it.
    case notCommitted(Int64, full: Bool)
    /// The wall-clock time in milliseconds since 1970 UTC; sent first of all, and then from time to time.
    case calendar(Int64)
}

/// The data that a rooms client needs to greet the hub on a new connection.
package struct RoomsGreeting: Hashable, Sendable {
    /// The token to send; nil: the hub needs none.
    package var token: String?
    /// The wall-clock time in milliseconds since 1970 UTC, because the device may have slept.
    ///
    /// Nil: keep the known time.
    package var calendar: Int64?

    package init(token: String?, calendar: Int64? = nil) { (self.token, self.calendar) = (token, calendar) }
}

/// How an app wants to join a room.
package struct JoinRequest: Hashable, Sendable {
    /// Where to start if the store has no entries of the room.
    package enum Start: Hashable, Sendable {
        /// With new entries only.
        case now
        /// With this number of the last entries.
        case last(Int64)
        /// With all entries that the hub retains.
        case beginning
    }
    package var start: Start
    /// The maximum number of missed entries to fetch before the client takes a snapshot instead; 0: no limit.
    package var limit: Int64
    package var wantsPresence: Bool
    package var presence: Presence

    package init(start: Start = .last(50), limit: Int64 = 10_000, wantsPresence: Bool = true, presence: Presence = Presence()) {
        (self.start, self.limit, self.wantsPresence, self.presence) = (start, limit, wantsPresence, presence)
    }
}
