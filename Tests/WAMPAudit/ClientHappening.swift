package import WAMPCore

/// An input of an audited client; answers of the router refer to requests that were sent.
package enum ClientHappening: Hashable, Sendable {
    case open, lose, welcome
    case call(UInt64, timeout: Duration?), callInParts(UInt64), part(UInt64), cancel(UInt64), publish(UInt64, isAcknowledged: Bool)
    case listen(UInt64, String, wantsRetained: Bool, history: Int), unsubscribe(UInt64)
    case offer(UInt64, String), unregister(UInt64)
    /// The router accepts or refuses the open request at this position.
    case accept(Int), refuse(Int, String), progress
    /// Concerns the subscription, registration or invocation at this position.
    case event(Int, retained: Bool), revokeTopic(Int), revokeProcedure(Int), invoke(Int, isOpen: Bool), interrupt(Int)
    /// The app's answer to an invocation.
    case yield(Int, isFinal: Bool), fail(Int)
    case goodbye, abort(String), leave
    /// A message that a correct router does not send.
    case nonsense(WAMPMessage)
}
