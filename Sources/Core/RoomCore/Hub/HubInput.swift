/// An input of a hub.
package enum HubInput: Hashable, Sendable {
    /// A connection was upgraded; the limits per address apply to this address.
    case opened(ConnectionID, address: String)
    /// A client has sent a frame with this number of bytes.
    case received(ConnectionID, ClientFrame, bytes: Int)
    /// A client has sent a message that has a frame's type but is not a valid frame; the text says why.
    case malformed(ConnectionID, String)
    /// A client has sent an invalid publication whose number is known: only the publication is refused.
    case unreadable(ConnectionID, PublicationEnvelope, String, bytes: Int)
    /// A client has sent an invalid ephemeral frame (presence, typing, a signal) in a room: only the frame is refused.
    case unheard(ConnectionID, EphemeralEnvelope, String, bytes: Int)
    /// A connection has ended.
    case gone(ConnectionID)
    /// A token was accepted, in answer to ``HubEffect/authenticate(_:token:)``.
    case identified(ConnectionID, Identity)
    /// A token was refused.
    case unidentified(ConnectionID, Refusal)
    /// More bytes wait to be written to a client than allowed.
    case congested(ConnectionID)
    /// All waiting bytes have been written to a client.
    case drained(ConnectionID)
    /// The log has answered.
    case log(LogReply)
    /// A node, perhaps this one, has sent a message to all nodes with ``HubEffect/notify(_:)``.
    case heard(BusMessage)
    /// The server itself publishes, under a device that stands for this one publication or for its author.
    ///
    /// ``HubEffect/answer(_:_:)`` answers it. The number 0 stands for the next number.
    case publish(ServerRequest, RoomName, DeviceID, UserName, Publication)
    /// The wall-clock time in milliseconds since 1970 UTC; sent first of all, and then from time to time.
    case calendar(Int64)
    /// The number of bytes that may still be stored in total; sent from time to time. Before the first one there is no limit.
    case space(Int64)
    /// The hub shuts down and accepts nothing new.
    case stop
}

/// A request of the server itself, with a number chosen by the caller.
package struct ServerRequest: Hashable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }
}

/// An effect that a hub orders.
package enum HubEffect: Hashable, Sendable {
    /// Sends a frame to one client.
    case send(HubFrame, to: ConnectionID)
    /// Sends the same frame to many clients; it is encoded once per encoding.
    case fanOut(HubFrame, to: [ConnectionID])
    /// Closes a connection after all frames sent to it, with a code and a reason.
    case close(ConnectionID, code: UInt16, reason: String)
    /// Verifies a token; ``HubInput/identified(_:_:)`` or ``HubInput/unidentified(_:_:)`` follows.
    case authenticate(ConnectionID, token: String?)
    /// Sends an order to the log.
    case log(LogOrder)
    /// Sends a message to all nodes, including this one: ``HubInput/heard(_:)`` follows.
    case notify(BusMessage)
    /// Answers a request of the server itself.
    case answer(ServerRequest, ServerAnswer)
    /// Reports to the operator that the log of a room has gone back to this position, and gets a new epoch.
    case rewound(LogPosition, in: RoomName)
}

/// The result of a request of the server itself.
package enum ServerAnswer: Hashable, Sendable {
    case stored(epoch: UInt64, HubFrame.Ack)
    case refused(Refusal)
}

/// A message between the nodes of a hub; it is not stored.
///
/// A node also receives its own messages, and acts on them only then.
package enum BusMessage: Hashable, Sendable {
    /// A user types, or has stopped typing.
    case typing(RoomName, UserName, Bool)
    /// A signal from a connection.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// The members of a room at the sender have changed, or are sent again on request or by the heartbeat.
    case segment(HubFrame.RoomMembers)
}

/// The hub machine's ID of a connection; never used twice.
package struct ConnectionID: Hashable, Comparable, Sendable {
    package var number: UInt64

    package init(_ number: UInt64) { self.number = number }

    package static func < (lhs: ConnectionID, rhs: ConnectionID) -> Bool { lhs.number < rhs.number }
}

/// The fields that distinguish an entry from every other entry that may be in its place.
///
/// The ID alone is not enough: when a message is sent again after the log went back, it is stored under its ID again. The hub sets `at`,
/// so no publisher can choose it.
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
    /// A timer of the hub.
    enum Alarm: Hashable, Sendable {
        /// The time limit of a connection to identify itself.
        case hello(ConnectionID)
        /// The expiry of a token.
        case expiry(ConnectionID)
        /// The time limit of a congested client.
        case slow(ConnectionID)
        /// The time after which a lost device is no longer shown as present.
        case grace(OwnedDevice)
        /// The time to open a room again.
        case reopen(RoomName)
        /// The time to close an empty room.
        case release(RoomName)
        /// The time to send changes of presence.
        case presence(RoomName)
        /// The time to send the full member list to clients that wait for it.
        case segments(RoomName)
        /// The time to send all segments and to drop silent nodes.
        case heartbeat
        /// The time at which a user's rate budgets are full again.
        case forgetUser(UserName)
        /// The time at which an address's rate budgets are full again.
        case forgetAddress(String)
        /// The time to forget device owners that the log has named.
        case forgetOwners
        /// The time limit for pending work during shutdown.
        case drain
    }
}
