public import WAMPCore

/// A fault that a test injects into a router: which messages it affects, and what happens to them.
///
/// ```swift
/// router.faults.add(.drop(.result))                       // the next result does not arrive
/// router.faults.add(.late(.result, by: .seconds(2)))      // the next arrives when nobody waits for it
/// router.faults.add(.double(.event, times: 3))
/// ```
///
/// A client's request is counted even if it is lost or late, so that the next one is no protocol violation. A dropped call gets no answer.
public struct RouterFault: Hashable, Sendable {
    /// What happens to a message.
    public enum Outcome: Hashable, Sendable {
        /// It does not arrive.
        case drop
        /// It arrives twice. A call that waits for its result is not carried out twice.
        case double
        /// It and all later messages in the same direction arrive this much later.
        case delay(Duration)
        /// It arrives this much later; later messages overtake it.
        case late(Duration)
        /// It and all later messages in the same direction wait until ``RouterFaults/release()``.
        case stall
        /// It does not arrive, and its client's connection is cut without a close frame.
        case cut
    }

    /// The kind of messages.
    ///
    /// The kind determines the direction; ERROR, ABORT and GOODBYE exist in both.
    public var kind: WAMPMessageKind
    /// What happens to them.
    public var outcome: Outcome
    /// How many matching messages pass first.
    public var skipping = 0
    /// How many messages it affects.
    public var times = 1
    /// Affects only messages with this topic, procedure, error or reason, or HELLOs with this realm; nil for all.
    public var uri: String?
    /// Affects only messages from or to this session; nil for all.
    public var session: WAMPID?
    /// Affects only messages from clients (true) or to clients (false); nil for both.
    public var isFromClient: Bool?

    /// Creates a fault.
    public init(_ kind: WAMPMessageKind, _ outcome: Outcome, times: Int = 1) {
        (self.kind, self.outcome, self.times) = (kind, outcome, times)
    }

    /// Drops the next messages of a kind.
    public static func drop(_ kind: WAMPMessageKind, times: Int = 1) -> RouterFault { RouterFault(kind, .drop, times: times) }
    /// Duplicates the next messages of a kind.
    public static func double(_ kind: WAMPMessageKind, times: Int = 1) -> RouterFault { RouterFault(kind, .double, times: times) }
    /// Delays the next messages of a kind, and all later ones in the same direction.
    public static func delay(_ kind: WAMPMessageKind, by time: Duration, times: Int = 1) -> RouterFault {
        RouterFault(kind, .delay(time), times: times)
    }
    /// Delays the next messages of a kind; later ones overtake them.
    public static func late(_ kind: WAMPMessageKind, by time: Duration, times: Int = 1) -> RouterFault {
        RouterFault(kind, .late(time), times: times)
    }
    /// Holds the next message of a kind, and all later ones in the same direction, until ``RouterFaults/release()``.
    public static func stall(_ kind: WAMPMessageKind) -> RouterFault { RouterFault(kind, .stall) }
    /// Cuts the client's connection at the next message of a kind.
    public static func cut(_ kind: WAMPMessageKind) -> RouterFault { RouterFault(kind, .cut) }
}

/// The kinds of WAMP messages, by their numbers; see ``WAMPMessage`` for their contents.
public enum WAMPMessageKind: UInt64, Hashable, Sendable, CaseIterable {
    /// Joining and leaving a realm.
    case hello = 1, welcome, abort, challenge, authenticate, goodbye
    /// A failed request.
    case error = 8
    /// Publishing to the subscribers of a topic.
    case publish = 16, published
    /// Subscriptions and their events.
    case subscribe = 32, subscribed, unsubscribe, unsubscribed, event
    /// Calls, as seen by callers.
    case call = 48, cancel, result
    /// Registrations and calls, as seen by callees.
    case register = 64, registered, unregister, unregistered, invocation, interrupt, yield
}

/// Injects faults into a router for tests: affects single messages, or a session, subscription or registration.
///
/// All methods may be called from any thread. They take effect in order with the messages of clients: messages that the router received
/// earlier are handled first.
public struct RouterFaults: Sendable {
    let core: RouterCore

    /// Adds a fault.
    ///
    /// If several faults match a message, the first one added applies.
    @discardableResult
    public func add(_ fault: RouterFault) -> AddedFault {
        let (over, ending) = AsyncStream.makeStream(of: Never.self)
        let number = core.addFault(fault, ending)
        return AddedFault(number: number, core: core, over: over)
    }

    /// Releases all stalled and delayed messages.
    public func release() { core.submitFault(.release) }

    /// Ends a session, as `wamp.session.kill` does.
    public func kill(_ session: WAMPID, reason: String = WAMPURI.Close.killed, message: String? = nil) {
        core.host.submit([.kill(session: session, reason: reason, message: message)])
    }

    /// Removes a registration from its callees, or a subscription from its subscribers, by id.
    public func revoke(_ id: WAMPID, realm: String, reason: String = "wamp.revoked") {
        core.host.submit([.revoke(realm: realm, id: id, reason: reason)])
    }

    /// Removes the registration of this procedure from its callees, and the subscription of this topic from its subscribers.
    public func revoke(_ uri: String, match: WAMPMatch = .exact, realm: String, reason: String = "wamp.revoked") {
        core.revoke(uri, match, realm: realm, reason: reason)
    }
}

/// A fault that was added to a router.
public struct AddedFault: Sendable {
    let number: UInt64
    let core: RouterCore
    let over: AsyncStream<Never>

    /// Waits until it has affected all its messages or was removed, or until the task is cancelled.
    public func triggered() async { for await _ in over {} }

    /// Removes the fault for messages that it has not yet affected.
    public func remove() { core.submitFault(.remove(number: number)) }
}
