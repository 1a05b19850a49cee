package import ProtocolCore
import WebSocketCore

/// What a client of rooms asks of its store and its app, and what it tells.
package enum RoomsEvent: Hashable, Sendable {
    /// Reads what is stored of a room: ``RoomsCommand/loaded(_:_:)`` or ``RoomsCommand/notLoaded(_:)`` follows.
    case load(RoomName)
    /// Writes one transaction, after those that were ordered before: ``RoomsCommand/committed(_:)`` or
    /// ``RoomsCommand/notCommitted(_:full:)`` follows.
    case commit(Int64, [StoreChange])
    /// The token on the present connection is about to end: ``RoomsCommand/token(_:)`` is to follow.
    case tokenWanted
    /// The hub refuses what concerns no room, perhaps the connection.
    case refused(Refusal)
    /// What the hub has sent is no frame of the protocol.
    case unreadable
    /// All is over: another connection would be refused as well.
    case stopped(Refusal)
    /// Tells the app.
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
    /// Another connection is made, not before that pause; the code tells the hub nothing that it needs.
    package static func again(after pause: Duration) -> ConnectionEnd {
        .reconnect(after: pause, CloseCode(rawValue: 4098), reason: "another connection is made")
    }
    /// The same after the socket's backoff, for the hub does not do what it should.
    package static func rejected(_ reason: String) -> ConnectionEnd { .reject(CloseCode(rawValue: 4098), reason: reason) }
}

/// What an app hears.
package enum RoomsNews: Hashable, Sendable {
    /// The hub knows us.
    case welcomed(UserName, connection: String, limits: RoomsLimits, expires: Int64)
    /// Where a room stands.
    case phase(RoomName, RoomPhase)
    /// A message is in the outbox, on disk.
    case queued(RoomName, MessageID, cseq: Int64)
    /// A message was handed to the connection.
    case sent(RoomName, MessageID)
    /// A message is in the room's log; a number of 0 if retention has passed it.
    case stored(RoomName, MessageID, LogPosition)
    /// A message will not be sent, unless the app retries.
    case failed(RoomName, MessageID, OutboxFailure)
    /// A message was not taken into the outbox.
    case refused(RoomName, MessageID, OutboxRefusal)
    /// A message left the outbox because the app discarded it.
    case discarded(RoomName, MessageID)
    /// Entries were stored, in order, after those before.
    case appended(RoomName, epoch: UInt64, [Entry])
    /// What was stored is replaced by these.
    case replaced(RoomName, LogPosition, [Entry])
    /// Older entries, in order; those that touch what is stored are stored.
    case page(RoomName, reference: Int64, [Entry], reachedBeginning: Bool)
    /// There is no page; 0 is the machine's own question for what comes before, which it asks no more.
    case noPage(RoomName, reference: Int64, Refusal?)
    /// Who is present, and how many, has changed.
    case members(RoomName, [PresentMember], total: Int64)
    /// Who types has changed; not the own user.
    case typing(RoomName, [UserName])
    /// Somebody has read up to an entry.
    case read(RoomName, UserName, upTo: Int64)
    /// Somebody's signal.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// The store has a new incarnation.
    case renewed(DeviceID)
    /// The store does not take what it should; nothing is acknowledged until it does.
    case storeFailed(full: Bool)
}

/// Where a room stands.
public enum RoomPhase: Hashable, Sendable {
    /// What is stored is being read.
    case loading
    /// There is no connection, or the hub has not answered.
    case waiting
    /// Missed entries come in.
    case catchingUp(head: Int64)
    /// All that is in the log is here.
    case live(head: Int64, rights: RoomRights)
    /// The hub does not let us in.
    case refused(Refusal)
    /// The app has left.
    case left
}

/// Why a message was not taken into the outbox.
public enum OutboxRefusal: Hashable, Sendable {
    /// So many messages wait already.
    case tooMany(Int)
    /// So many bytes wait already.
    case tooMuch(bytes: Int)
    /// The payload is longer than the hub takes, or the type is empty or too long.
    case tooLong
    /// The payload is not one value of JSON that a frame can carry: see ``Payload/init(json:)``.
    case notJSON
    /// The room has not been joined.
    case notJoined
    /// The store cannot write.
    case store(full: Bool)
    /// The rooms were closed before it was written.
    case closed
}
