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
