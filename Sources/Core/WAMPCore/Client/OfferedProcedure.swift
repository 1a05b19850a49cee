internal import MachineCore

/// A procedure that the app offers, or that the router still has to be told is not offered any more.
struct OfferedProcedure: Hashable, Sendable {
    enum Flight: Hashable, Sendable {
        case register
        case unregister
    }

    let handle: ClientHandle
    let key: TopicKey
    let options: RegisterOptions
    /// Until when it waits for its first session; nil: it does not.
    let waitsUntil: Moment?
    /// Whether the app still offers it.
    var isWanted = true
    /// While it stands on the router.
    var registration: WAMPID?
    /// At most one is under way, so an answer says where the procedure stands.
    var flight: Flight?
    /// Since when it is under way.
    var askedAt = Moment.start
    /// Whether the app was told once that it is registered.
    var hasStood = false
    /// Whether an earlier session asked for it: that may live on the router still, and hold the registration.
    var wasAskedBefore = false
    var standsSince = Moment.start
    /// Until when the router may refuse it; nil: it has not, in this session.
    var toleratedUntil: Moment?
    /// How often it was tried again.
    var tries = 0
    /// Whether the next try has to wait.
    var isPausing = false
    /// How many of its invocations run.
    var running = 0
}
