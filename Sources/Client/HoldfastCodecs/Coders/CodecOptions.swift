public import CodecCore

/// How the coders of ``MessagePackEncoder`` and its kin write and read what may be written in more than one way.
public struct CodecOptions: Sendable {
    /// How a `Date` is written; all forms are read, whatever is chosen here.
    public enum DateForm: Hashable, Sendable {
        /// As the format does it: MessagePack's timestamp, exact to the nanosecond; in CBOR seconds since 1970 under the tag 1, where a
        /// part of a second is a double, exact to a quarter of a microsecond.
        case native
        /// Seconds since 1970 as a floating-point number.
        case seconds
        /// A text of RFC 3339 in UTC.
        case iso8601
    }

    /// How a `Date` is written.
    public var dates: DateForm
    /// Whether a key that has an integer is written as that, as is usual in CBOR; both are always read.
    public var integerKeys: Bool
    /// Whether a text of Base64 is read where bytes are wanted; for what has passed through JSON.
    public var readsBase64 = false
    /// What bytes of a peer may ask of a decoder; also, how deep and how long what is written may become.
    public var limits: CodecLimits
    /// What types find in `Encoder.userInfo` and `Decoder.userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// Options; native dates, keys as texts and the standard limits unless told otherwise.
    public init(
        dates: DateForm = .native, integerKeys: Bool = false, limits: CodecLimits = .standard,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        (self.dates, self.integerKeys, self.limits, self.userInfo) = (dates, integerKeys, limits, userInfo)
    }
}
