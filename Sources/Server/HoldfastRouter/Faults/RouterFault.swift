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
