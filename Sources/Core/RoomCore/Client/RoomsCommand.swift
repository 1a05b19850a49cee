package import ProtocolCore
import WebSocketCore

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

/// A request from the rooms machine to its store or its app, or news for the app.
package enum RoomsEvent: Hashable, Sendable {
    /// Asks the store to read a room; ``RoomsCommand/loaded(_:_:)`` or ``RoomsCommand/notLoaded(_:)`` follows.
    case load(RoomName)
    /// Asks the store to write one transaction after all those ordered before.
    ///
    /// ``RoomsCommand/committed(_:)`` or ``RoomsCommand/notCommitted(_:full:)`` follows.
    case commit(Int64, [StoreChange])
    /// The token on the current connection is about to expire: the app answers with ``RoomsCommand/token(_:)``.
    case tokenWanted
    /// The hub refused something that belongs to no room, perhaps the connection.
    case refused(Refusal)
    /// The hub sent a message that is not a valid frame of the protocol.
    case unreadable
    /// The client stops: the hub would refuse another connection as well.
    case stopped(Refusal)
    /// News for the app.
    case news(RoomsNews)
}

package typealias RoomsInput = ProtocolInput<RoomsMachine>
package typealias RoomsEffect = ProtocolEffect<RoomsMachine>

extension RoomsEffect {
    package static func news(_ news: RoomsNews) -> RoomsEffect { .event(.news(news)) }
    package static func load(_ room: RoomName) -> RoomsEffect { .event(.load(room)) }
    package static func commit(_ number: Int64, _ changes: [StoreChange]) -> RoomsEffect { .event(.commit(number, changes)) }
    package static func reconnect(after milliseconds: Int64) -> RoomsEffect { .end(.again(after: .milliseconds(max(0, milliseconds)))) }
}

extension ConnectionEnd {
    /// Ends the connection and reconnects after the pause; the close code carries no information for the hub.
    package static func again(after pause: Duration) -> ConnectionEnd {
        .reconnect(after: pause, CloseCode(rawValue: 4098), reason: "the client reconnects")
    }
    /// Ends the connection and reconnects after the socket's backoff, because the hub breaks the protocol.
    package static func rejected(_ reason: String) -> ConnectionEnd { .reject(CloseCode(rawValue: 4098), reason: reason) }
}

/// News from the rooms machine to the app.
package enum RoomsNews: Hashable, Sendable {
    /// The hub has accepted the client.
    case welcomed(UserName, connection: String, limits: RoomsLimits, expires: Int64)
    /// The phase of a room has changed.
    case phase(RoomName, RoomPhase)
    /// A message is in the outbox on disk.
    case queued(RoomName, MessageID, cseq: Int64)
    /// The client has given a message to the connection.
    case sent(RoomName, MessageID)
    /// A message is in the room's log; its number is 0 if retention has already deleted it.
    case stored(RoomName, MessageID, LogPosition)
    /// A message has failed and is not sent unless the app retries it.
    case failed(RoomName, MessageID, OutboxFailure)
    /// The outbox did not accept a message.
    case refused(RoomName, MessageID, OutboxRefusal)
    /// A message left the outbox because the app discarded it.
    case discarded(RoomName, MessageID)
    /// New entries were stored, in order, after the existing entries.
    case appended(RoomName, epoch: UInt64, [Entry])
    /// These entries replace the stored entries.
    case replaced(RoomName, LogPosition, [Entry])
    /// Older entries, in order; the client stores them if they join the stored entries without a gap.
    case page(RoomName, reference: Int64, [Entry], reachedBeginning: Bool)
    /// A history request has failed; reference 0 is the machine's own request for older entries, which it does not repeat.
    case noPage(RoomName, reference: Int64, Refusal?)
    /// The present members, or their total number, have changed.
    case members(RoomName, [PresentMember], total: Int64)
    /// The set of typing users has changed; it does not include the own user.
    case typing(RoomName, [UserName])
    /// A user has read up to an entry.
    case read(RoomName, UserName, upTo: Int64)
    /// A signal from another connection.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// The store has a new device ID.
    case renewed(DeviceID)
    /// The store fails to write; nothing is acknowledged until it recovers.
    case storeFailed(full: Bool)
}

/// The phase of a room on the client.
public enum RoomPhase: Hashable, Sendable {
    /// The client reads the stored state of the room.
    case loading
    /// There is no connection, or the hub has not answered yet.
    case waiting
    /// The client receives missed entries.
    case catchingUp(head: Int64)
    /// The client has all entries of the log.
    case live(head: Int64, rights: RoomRights)
    /// The hub refuses access to the room.
    case refused(Refusal)
    /// The app has left the room.
    case left
}

/// Why the outbox did not accept a message.
public enum OutboxRefusal: Hashable, Sendable {
    /// The outbox holds the maximum number of messages, which is this.
    case tooMany(Int)
    /// The message would exceed the maximum number of bytes in the outbox, which is this.
    case tooMuch(bytes: Int)
    /// The payload is longer than the hub accepts, or the type is empty or too long.
    case tooLong
    /// The payload is not a single JSON value that a frame can carry: see ``Payload/init(json:)``.
    case notJSON
    /// The room has not been joined.
    case notJoined
    /// The store cannot write; `full`: its disk is full.
    case store(full: Bool)
    /// The client was closed before the message was written.
    case closed
}
