/// Why an update, a state vector or a position was refused.
///
/// A document that throws it is as it was before the call.
public struct DocumentError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: UInt8 {
            case truncated, malformed, invalidText, invalidJSON, tooDeep, tooLarge, unknownContent, unknownType, impossibleReference
            case noSuchType, wrongType, outOfRange
        }
        private let kind: Kind

        /// The bytes end before the value is complete.
        public static let truncated = Code(kind: .truncated)
        /// A byte is not allowed at its position, or a number is larger than the format allows.
        public static let malformed = Code(kind: .malformed)
        /// A text is not valid UTF-8, or its length in UTF-16 units does not match.
        public static let invalidText = Code(kind: .invalidText)
        /// A text that has to be JSON is not.
        public static let invalidJSON = Code(kind: .invalidJSON)
        /// Values are nested deeper than 100 levels.
        public static let tooDeep = Code(kind: .tooDeep)
        /// The update holds more blocks, or a larger clock, than this library accepts.
        public static let tooLarge = Code(kind: .tooLarge)
        /// A block has a kind of content that this library does not know.
        ///
        /// Its length is unknown, so the update cannot be read.
        public static let unknownContent = Code(kind: .unknownContent)
        /// A shared type is of a kind that this library does not know.
        public static let unknownType = Code(kind: .unknownType)
        /// A block refers to itself or to a later block of its own client.
        public static let impossibleReference = Code(kind: .impossibleReference)
        /// The shared type was deleted, or never was in this document.
        public static let noSuchType = Code(kind: .noSuchType)
        /// The operation does not exist for this kind of shared type.
        public static let wrongType = Code(kind: .wrongType)
        /// An index lies outside of the shared type.
        public static let outOfRange = Code(kind: .outOfRange)

        /// The error in words.
        public var description: String {
            switch kind {
            case .truncated: "the bytes end before the value is complete"
            case .malformed: "a byte or a number is not allowed here"
            case .invalidText: "a text is not valid"
            case .invalidJSON: "a text is not JSON"
            case .tooDeep: "values are nested too deep"
            case .tooLarge: "the update is too large"
            case .unknownContent: "a block has an unknown kind of content"
            case .unknownType: "a shared type is of an unknown kind"
            case .impossibleReference: "a block refers to itself or to a later block of its client"
            case .noSuchType: "the document has no such shared type"
            case .wrongType: "this shared type has no such operation"
            case .outOfRange: "the index is outside of the shared type"
            }
        }
    }

    /// The kind of error.
    public let code: Code
    /// The position of the byte, from 0, or nil for an operation.
    public let offset: Int?

    /// Creates an error with its kind and position.
    public init(_ code: Code, at offset: Int? = nil) { (self.code, self.offset) = (code, offset) }

    /// The error in words, and its position.
    public var description: String { offset.map { "\(code), at byte \($0)" } ?? "\(code)" }
}
