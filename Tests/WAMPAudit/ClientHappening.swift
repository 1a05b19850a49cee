package import WAMPCore

/// What happens to an audited client; answers are those of a router to what it was really sent.
package enum ClientHappening: Hashable, Sendable {
    case open, lose, welcome
    case call(UInt64, timeout: Duration?), callInParts(UInt64), part(UInt64), cancel(UInt64), publish(UInt64, isAcknowledged: Bool)
    case listen(UInt64, String, wantsRetained: Bool, history: Int), unsubscribe(UInt64)
    case offer(UInt64, String), unregister(UInt64)
    /// The router takes, or refuses, the request with this place among the open ones.
    case accept(Int), refuse(Int, String), progress
    /// Of the subscription, registration or invocation with this place.
    case event(Int, retained: Bool), revokeTopic(Int), revokeProcedure(Int), invoke(Int, isOpen: Bool), interrupt(Int)
    /// The app's answer to an invocation.
    case yield(Int, isFinal: Bool), fail(Int)
    case goodbye, abort(String), leave
    /// Whatever a router in its right mind does not send.
    case nonsense(WAMPMessage)
}
