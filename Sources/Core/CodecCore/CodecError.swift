/// What is wrong with bytes that should be a value, and where; or why a value cannot be written.
public struct CodecError: Error, Hashable, Sendable {
    /// What is wrong.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: UInt8 {
            case truncated, malformed, invalidText, tooDeep, tooLarge, trailingBytes, overflow, unsupported
        }
        private let kind: Kind

        /// The bytes end before the value does.
        public static let truncated = Code(kind: .truncated)
        /// A byte stands where the format allows none like it.
        public static let malformed = Code(kind: .malformed)
        /// A text is not valid UTF-8.
        public static let invalidText = Code(kind: .invalidText)
        /// Values lie deeper in one another than the limit allows.
        public static let tooDeep = Code(kind: .tooDeep)
        /// There are more bytes than the limit allows.
        public static let tooLarge = Code(kind: .tooLarge)
        /// More bytes follow the value.
        public static let trailingBytes = Code(kind: .trailingBytes)
        /// A number is too large for what should hold it.
        public static let overflow = Code(kind: .overflow)
        /// The format has no such thing, or this library does not know it.
        public static let unsupported = Code(kind: .unsupported)

        /// The code's words.
        public var description: String {
            switch kind {
            case .truncated: "the bytes end before the value does"
            case .malformed: "a byte that may not stand here"
            case .invalidText: "a text that is not valid UTF-8"
            case .tooDeep: "values lie too deep in one another"
            case .tooLarge: "too many bytes"
            case .trailingBytes: "bytes follow the value"
            case .overflow: "a number is too large"
            case .unsupported: "the format has no such value"
            }
        }
    }

    /// What is wrong.
    public let code: Code
    /// At which byte, from 0; of what could not be written, how many bytes stood before it.
    public let offset: Int

    /// An error with its code and place.
    public init(_ code: Code, at offset: Int) { (self.code, self.offset) = (code, offset) }
}

extension CodecError: CustomStringConvertible {
    /// What is wrong, and at which byte.
    public var description: String { "\(code), at byte \(offset)" }
}

/// What bytes of a peer may ask of a decoder.
public struct CodecLimits: Hashable, Sendable {
    /// How deep values may lie in one another; a scalar alone has depth 0.
    ///
    /// Each level costs some of the stack of the thread, so set it no higher than the data needs.
    public var maximumDepth: Int
    /// How many bytes there may be.
    public var maximumBytes: Int

    /// Limits; 128 levels and 64 MiB unless told otherwise.
    public init(maximumDepth: Int = 128, maximumBytes: Int = 64 << 20) {
        (self.maximumDepth, self.maximumBytes) = (maximumDepth, maximumBytes)
    }

    /// 128 levels and 64 MiB.
    public static let standard = CodecLimits()
}
