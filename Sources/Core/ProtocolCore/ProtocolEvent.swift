/// What identifies a request of the app's, such as a call or a subscription: chosen by a `ProtocolClient`, and never used twice by it.
public struct RequestID: Hashable, Comparable, Sendable {
    /// The number, counted from 1.
    public let number: UInt64

    /// An id; a client makes its own, so this is for tests.
    public init(_ number: UInt64) { self.number = number }

    /// Whether `lhs` was made before `rhs`.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// An event that says whom it concerns: who waits for the answer to a request, or everybody who follows the client's events.
public protocol ProtocolEvent: Sendable {
    /// The request that it is about; nil: it is for everybody.
    var request: RequestID? { get }
    /// Whether nothing more comes of that request.
    ///
    /// Each request needs one last event, whatever becomes of it: whoever waits for it waits until then.
    var isLast: Bool { get }
}
