/// How a connection, or an attempt at one, was lost.
public struct Loss: Hashable, Sendable {
    /// Why it was lost.
    public var cause: LossCause
    /// How long the server asks to be left alone, see `HeaderFields.retryAfter`; nil if it does not say.
    public var retryAfter: Duration?

    /// A loss for this cause.
    public init(_ cause: LossCause, retryAfter: Duration? = nil) {
        (self.cause, self.retryAfter) = (cause, retryAfter)
    }
}
