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
