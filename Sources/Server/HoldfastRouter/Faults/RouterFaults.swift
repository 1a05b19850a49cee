public import WAMPCore

/// What tests let go wrong at a router: one message after another, or a session, subscription or registration at once.
///
/// Everything here may be called from any thread, and takes its turn among what clients send: what a client sent before, and the router
/// has taken, is dealt with first.
public struct RouterFaults: Sendable {
    let core: RouterCore

    /// Adds a fault; of several that fit a message, the first that was added befalls it.
    @discardableResult
    public func add(_ fault: RouterFault) -> AddedFault {
        let (over, ending) = AsyncStream.makeStream(of: Never.self)
        let number = core.addFault(fault, ending)
        return AddedFault(number: number, core: core, over: over)
    }

    /// Lets all go on that was stalled or delayed.
    public func release() { core.submitFault(.release) }

    /// Ends a session, as `wamp.session.kill` does.
    public func kill(_ session: WAMPID, reason: String = WAMPURI.Close.killed, message: String? = nil) {
        core.host.submit([.kill(session: session, reason: reason, message: message)])
    }

    /// Takes a registration away from its callees, or a subscription from its subscribers; by its id.
    public func revoke(_ id: WAMPID, realm: String, reason: String = "wamp.revoked") {
        core.host.submit([.revoke(realm: realm, id: id, reason: reason)])
    }

    /// Takes the registration of this procedure away from its callees, and the subscription of this topic from its subscribers.
    public func revoke(_ uri: String, match: WAMPMatch = .exact, realm: String, reason: String = "wamp.revoked") {
        core.revoke(uri, match, realm: realm, reason: reason)
    }
}

/// A fault that was added to a router.
public struct AddedFault: Sendable {
    let number: UInt64
    let core: RouterCore
    let over: AsyncStream<Never>

    /// Waits until it has befallen all that it was to befall, or was taken back; or until the task is cancelled.
    public func befallen() async { for await _ in over {} }

    /// Takes it back, for what it has not befallen yet.
    public func remove() { core.submitFault(.remove(number: number)) }
}
