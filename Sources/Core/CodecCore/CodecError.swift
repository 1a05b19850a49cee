/// An error in encoded data and its position, or the reason why a value cannot be encoded.
public struct CodecError: Error, Hashable, Sendable {
    /// The kind of error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: UInt8 {
            case truncated, malformed, invalidText, tooDeep, tooLarge, trailingBytes, overflow, unsupported
        }
        private let kind: Kind

        /// The data ends before the value is complete.
        public static let truncated = Code(kind: .truncated)
        /// A byte is not allowed at its position.
        public static let malformed = Code(kind: .malformed)
        /// A text is not valid UTF-8.
        public static let invalidText = Code(kind: .invalidText)
        /// Values are nested deeper than the limit allows.
        public static let tooDeep = Code(kind: .tooDeep)
        /// The data has more bytes than the limit allows.
        public static let tooLarge = Code(kind: .tooLarge)
        /// Further bytes follow the value.
        public static let trailingBytes = Code(kind: .trailingBytes)
        /// A number is too large for its type.
        public static let overflow = Code(kind: .overflow)
        /// The format has no such value, or this library does not support it.
        public static let unsupported = Code(kind: .unsupported)

        /// The error in words.
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

    /// The kind of error.
    public let code: Code
    /// The position of the byte, from 0.
    ///
    /// For an encoding error, the number of bytes written before it.
    public let offset: Int

    /// Creates an error with its kind and position.
    public init(_ code: Code, at offset: Int) { (self.code, self.offset) = (code, offset) }
}

extension CodecError: CustomStringConvertible {
    /// The error in words, and its position.
    public var description: String { "\(code), at byte \(offset)" }
}

/// Limits for decoding data from a peer.
public struct CodecLimits: Hashable, Sendable {
    /// The maximum nesting depth of values; a scalar alone has depth 0.
    ///
    /// Each level uses stack space of the thread, so set it no higher than the data requires.
    public var maximumDepth: Int
    /// The maximum number of bytes.
    public var maximumBytes: Int

    /// Creates limits; 128 levels and 64 MiB by default.
    public init(maximumDepth: Int = 128, maximumBytes: Int = 64 << 20) {
        (self.maximumDepth, self.maximumBytes) = (maximumDepth, maximumBytes)
    }

    /// The default limits: 128 levels and 64 MiB.
    public static let standard = CodecLimits()
}
