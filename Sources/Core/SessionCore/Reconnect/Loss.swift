/// How a connection, or an attempt at one, was lost.
public struct Loss: Hashable, Sendable {
    /// Why it was lost.
    public var cause: LossCause
    /// How long the server asks to be left alone, see `HeaderFields.retryAfter`; nil if it does not say.
    public var retryAfter: Duration?
    /// Whether the link broke while a ping had met nothing but silence: perhaps something on the way had forgotten it.
    public var wasIdle: Bool

    /// A loss for this cause.
    public init(_ cause: LossCause, retryAfter: Duration? = nil, wasIdle: Bool = false) {
        (self.cause, self.retryAfter, self.wasIdle) = (cause, retryAfter, wasIdle)
    }
}
