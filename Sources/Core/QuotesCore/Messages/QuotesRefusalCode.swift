/// Why a server did not do what a client asked for; a later server may have more.
public struct QuotesRefusalCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// As it is on the wire.
    public let rawValue: String

    /// A code, as it is on the wire.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Not to be decoded, or a value out of its range.
    public static let badRequest = QuotesRefusalCode(rawValue: "bad_request")
    /// A pattern is empty, longer than 32 characters, or has a character that no symbol has.
    public static let badPattern = QuotesRefusalCode(rawValue: "bad_pattern")
    /// More than 100 patterns in one subscription.
    public static let tooManyPatterns = QuotesRefusalCode(rawValue: "too_many_patterns")
    /// More than 64 subscriptions at once.
    public static let tooManySubscriptions = QuotesRefusalCode(rawValue: "too_many_subscriptions")
    /// An end to a subscription that there is not.
    public static let unknownSubscription = QuotesRefusalCode(rawValue: "unknown_subscription")

    /// As it is on the wire.
    public var description: String { rawValue }
}
