public import WAMPCore

/// Something that goes wrong at a router because a test wants it to: which message it befalls, and what becomes of that.
///
/// ```swift
/// router.faults.add(.drop(.result))                       // the next result does not arrive
/// router.faults.add(.late(.result, by: .seconds(2)))      // the next arrives when nobody waits for it
/// router.faults.add(.double(.event, times: 3))
/// ```
/// A request of a client counts though it is lost or late, so that the next is no violation: a call that is dropped has no answer.
public struct RouterFault: Hashable, Sendable {
    /// What becomes of a message.
    public enum Outcome: Hashable, Sendable {
        /// It does not arrive.
        case drop
        /// It arrives twice; a call that waits for its result is not made twice.
        case double
        /// It, and all that follows it the same way, arrives so much later.
        case delay(Duration)
        /// It arrives so much later, and what follows it before it.
        case late(Duration)
        /// It, and all that follows it the same way, waits until ``RouterFaults/release()``.
        case stall
        /// It does not arrive, and the connection of its client is cut without a word.
        case cut
    }

    /// Which messages; they go the way that their kind goes, and ERROR, ABORT and GOODBYE both ways.
    public var kind: WAMPMessageKind
    /// What becomes of them.
    public var outcome: Outcome
    /// How many of them come through first.
    public var skipping = 0
    /// How many of them it befalls.
    public var times = 1
    /// Only those that name this topic, procedure, error or reason; nil: all.
    public var uri: String?
    /// Only those from or for this session; nil: all.
    public var session: WAMPID?
    /// Only those that clients send, or only those that they get; nil: both.
    public var isFromClient: Bool?

    /// A fault.
    public init(_ kind: WAMPMessageKind, _ outcome: Outcome, times: Int = 1) {
        (self.kind, self.outcome, self.times) = (kind, outcome, times)
    }

    /// The next messages of a kind do not arrive.
    public static func drop(_ kind: WAMPMessageKind, times: Int = 1) -> RouterFault { RouterFault(kind, .drop, times: times) }
    /// They arrive twice.
    public static func double(_ kind: WAMPMessageKind, times: Int = 1) -> RouterFault { RouterFault(kind, .double, times: times) }
    /// They, and all that follows them the same way, arrive later.
    public static func delay(_ kind: WAMPMessageKind, by time: Duration, times: Int = 1) -> RouterFault {
        RouterFault(kind, .delay(time), times: times)
    }
    /// They arrive later, and what follows them before them.
    public static func late(_ kind: WAMPMessageKind, by time: Duration, times: Int = 1) -> RouterFault {
        RouterFault(kind, .late(time), times: times)
    }
    /// The next one, and all that follows it the same way, waits until ``RouterFaults/release()``.
    public static func stall(_ kind: WAMPMessageKind) -> RouterFault { RouterFault(kind, .stall) }
    /// With the next one its client's connection is cut.
    public static func cut(_ kind: WAMPMessageKind) -> RouterFault { RouterFault(kind, .cut) }
}

/// The kinds of WAMP's messages, by their numbers; what each says stands with ``WAMPMessage``.
public enum WAMPMessageKind: UInt64, Hashable, Sendable, CaseIterable {
    /// Joining and leaving.
    case hello = 1, welcome, abort, challenge, authenticate, goodbye
    /// A request that failed.
    case error = 8
    /// Telling all subscribers of a topic.
    case publish = 16, published
    /// Subscribing, and what that brings.
    case subscribe = 32, subscribed, unsubscribe, unsubscribed, event
    /// Calling, as callers see it.
    case call = 48, cancel, result
    /// Offering procedures, and calls of them as callees see them.
    case register = 64, registered, unregister, unregistered, invocation, interrupt, yield
}

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
