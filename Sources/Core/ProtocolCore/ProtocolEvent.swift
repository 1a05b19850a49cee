/// The id of a request of the app, such as a call or a subscription.
///
/// A `ProtocolClient` chooses it and never uses it twice.
public struct RequestID: Hashable, Comparable, Sendable {
    /// The number, counted from 1.
    public let number: UInt64

    /// Creates an id.
    ///
    /// A client makes its own ids, so this is for tests.
    public init(_ number: UInt64) { self.number = number }

    /// Returns whether `lhs` was made before `rhs`.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// An event for the caller that waits for one request, or for all observers of the client's events.
public protocol ProtocolEvent: Sendable {
    /// The request that the event belongs to; nil for an event for all observers.
    var request: RequestID? { get }
    /// Whether this is the last event of that request.
    ///
    /// Every request must get exactly one last event, whatever its outcome: the caller waits until then.
    var isLast: Bool { get }
}
