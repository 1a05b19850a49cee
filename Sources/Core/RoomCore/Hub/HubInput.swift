/// What can happen to a hub.
package enum HubInput: Hashable, Sendable {
    /// A connection was upgraded; the address limits what one host may do.
    case opened(ConnectionID, address: String)
    /// A client has spoken; how many bytes its frame had.
    case received(ConnectionID, ClientFrame, bytes: Int)
    /// A client has said what is no frame of the protocol, though one of its types; text says why.
    case malformed(ConnectionID, String)
    /// The same of a publication of which it is known which one it is: it is refused alone.
    case unreadable(ConnectionID, PublicationEnvelope, String, bytes: Int)
    /// The same of what nobody stores (presence, typing, a signal) in a room: it is refused alone, too.
    case unheard(ConnectionID, EphemeralEnvelope, String, bytes: Int)
    /// A connection has ended.
    case gone(ConnectionID)
    /// A token was looked at, as ``HubEffect/authenticate(_:token:)`` asked.
    case identified(ConnectionID, Identity)
    /// A token was refused.
    case unidentified(ConnectionID, Refusal)
    /// More waits to be written to a client than it may.
    case congested(ConnectionID)
    /// All that waited has been written.
    case drained(ConnectionID)
    /// The log has answered.
    case log(LogReply)
    /// A node, perhaps this one, has told all nodes; by ``HubEffect/tell(_:)``.
    case heard(BusMessage)
    /// The server itself publishes, under a device that stands for this one publication or for its author; answered by
    /// ``HubEffect/answer(_:_:)``.
    ///
    /// The number 0 is the one that comes next.
    case publish(ServerRequest, RoomName, DeviceID, UserName, Publication)
    /// What the calendar says, in milliseconds since 1970 UTC; from time to time, and first of all.
    case calendar(Int64)
    /// How many bytes may yet be stored in all; from time to time. Before it is said there is no bound.
    case space(Int64)
    /// The hub stops: nothing new is taken.
    case stop
}

/// A request of the server's own, by a number of the caller's.
package struct ServerRequest: Hashable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// What a hub orders.
package enum HubEffect: Hashable, Sendable {
    /// Says something to one client.
    case send(HubFrame, to: ConnectionID)
    /// Says the same to many: encoded once for each encoding.
    case fanOut(HubFrame, to: [ConnectionID])
    /// Closes a connection after what was said to it, with a code and a reason.
    case close(ConnectionID, code: UInt16, reason: String)
    /// Looks at a token; ``HubInput/identified(_:_:)`` or ``HubInput/unidentified(_:_:)`` follows.
    case authenticate(ConnectionID, token: String?)
    /// Asks the log.
    case log(LogOrder)
    /// Tells all nodes, this one too: ``HubInput/heard(_:)`` follows.
    case tell(BusMessage)
    /// Answers a request of the server's own.
    case answer(ServerRequest, ServerAnswer)
    /// Tells whoever runs the hub that the log of a room has gone back to this, and gets a new epoch.
    case rewound(LogPosition, in: RoomName)
}

/// What became of a request of the server's own.
package enum ServerAnswer: Hashable, Sendable {
    case stored(epoch: UInt64, HubFrame.Ack)
    case refused(Refusal)
}

/// What the nodes of a hub tell each other and nobody stores.
///
/// A node hears its own messages too, and acts on them only then.
package enum BusMessage: Hashable, Sendable {
    /// Somebody types, or has stopped.
    case typing(RoomName, UserName, Bool)
    /// Somebody's signal.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// The sender's segment of those present in a room has changed, or is told again because it is asked for or time has passed.
    case segment(HubFrame.RoomMembers)
}

/// A connection, as the hub's machine names it; never used twice.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (lhs: ConnectionID, rhs: ConnectionID) -> Bool { lhs.number < rhs.number }
}

/// What tells an entry from every other that may stand in its place.
///
/// Its name alone does not: a message that is sent again, after the log went back, is stored under its name again. `at` is the hub's, so that
/// no publisher can choose it.
package struct EntryStamp: Hashable, Sendable {
    package let id: MessageID
    package let device: DeviceID
    package let cseq: Int64
    package let at: Int64

    package init(id: MessageID, device: DeviceID, cseq: Int64, at: Int64) {
        (self.id, self.device, self.cseq, self.at) = (id, device, cseq, at)
    }

    package init(_ entry: Entry) { self.init(id: entry.id, device: entry.device, cseq: entry.cseq, at: entry.at) }
}

extension HubMachine {
    /// What a hub waits for.
    enum Alarm: Hashable, Sendable {
        /// A connection has not said who it is.
        case hello(ConnectionID)
        /// A token ends.
        case expiry(ConnectionID)
        /// A client was congested for too long.
        case slow(ConnectionID)
        /// A device that was lost is no longer shown as present.
        case grace(OwnedDevice)
        /// A room is opened again.
        case reopen(RoomName)
        /// A room in which nobody is is let go.
        case release(RoomName)
        /// Changes of presence are told.
        case presence(RoomName)
        /// Those who wait for it are told all who are present.
        case segments(RoomName)
        /// All segments are told, and silent nodes are dropped.
        case heartbeat
        /// What a user took has flown back.
        case forgetUser(UserName)
        /// What an address took has flown back.
        case forgetAddress(String)
        /// What the log said of devices that are another's is to be asked anew.
        case forgetOwners
        /// The hub has waited long enough for what it had taken.
        case drain
    }
}
