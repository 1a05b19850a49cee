/// Why bytes of a peer are no frame of the protocol.
///
/// It holds nothing that the peer wrote.
public struct FrameError: Error, Hashable, Sendable {
    /// What is wrong.
    public struct Problem: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: UInt8 { case truncated, malformed, text, deep, trailing, kind, missing, value, number, name, long, message }
        private let kind: Kind

        /// The bytes end before the frame does.
        public static let truncated = Problem(kind: .truncated)
        /// A byte stands where the format allows none like it.
        public static let malformed = Problem(kind: .malformed)
        /// A text is not valid UTF-8.
        public static let invalidText = Problem(kind: .text)
        /// Values lie deeper in one another than 64 levels.
        public static let tooDeep = Problem(kind: .deep)
        /// More bytes follow the frame.
        public static let trailingBytes = Problem(kind: .trailing)
        /// A value is of another kind than its field has.
        public static let wrongKind = Problem(kind: .kind)
        /// A field that the frame needs is not there.
        public static let missing = Problem(kind: .missing)
        /// A value is none of those that its field can have.
        public static let invalidValue = Problem(kind: .value)
        /// A number is beyond 2^53, or negative where that makes no sense.
        public static let outOfRange = Problem(kind: .number)
        /// A text is no name of a room or a user.
        public static let invalidName = Problem(kind: .name)
        /// A text or a list is longer than the protocol allows.
        public static let tooLong = Problem(kind: .long)
        /// Text came where the subprotocol has binary messages, or the other way round.
        public static let wrongMessage = Problem(kind: .message)

        /// The problem's words.
        public var description: String {
            switch kind {
            case .truncated: "the bytes end before the frame does"
            case .malformed: "a byte that may not stand here"
            case .text: "a text that is not valid UTF-8"
            case .deep: "values lie too deep in one another"
            case .trailing: "bytes follow the frame"
            case .kind: "a value of another kind"
            case .missing: "a field is missing"
            case .value: "not a value of this field"
            case .number: "a number out of range"
            case .name: "not a name"
            case .long: "too long"
            case .message: "not the kind of message that the subprotocol has"
            }
        }
    }

    /// What is wrong.
    public let problem: Problem
    /// The field of the protocol that it is about; empty if of none.
    public let field: String
    /// At which byte, from 0; nil if the encoding does not say.
    public let offset: Int?

    /// An error with its field and place.
    public init(_ problem: Problem, field: StaticString = "", at offset: Int? = nil) {
        (self.problem, self.field, self.offset) = (problem, field.description, offset)
    }
}

extension FrameError: CustomStringConvertible {
    /// What is wrong, with which field, and at which byte.
    public var description: String {
        (field.isEmpty ? "" : "\(field): ") + "\(problem)" + (offset.map { ", at byte \($0)" } ?? "")
    }
}

/// A name of the protocol, of a field or a frame, as two numbers: compared at once, and made without memory.
struct FrameWord: Equatable, ExpressibleByStringLiteral {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// One that no name of the protocol equals.
    static let unknown: FrameWord = {
        var word = FrameWord()
        (word.low, word.high) = (.max, .max)
        return word
    }()

    private init() {}

    @inline(__always) init(stringLiteral text: StaticString) {
        for place in 0..<min(text.utf8CodeUnitCount, 16) { unsafe set(text.utf8Start[place], at: place) }
    }

    /// The name that these bytes are; ``unknown`` if they are too many, or none at all.
    init(_ bytes: UnsafeRawBufferPointer) {
        // What is left of the two numbers is 0.
        guard (1...16).contains(bytes.count), unsafe bytes[bytes.count - 1] != 0 else {
            self = .unknown
            return
        }
        for place in 0..<bytes.count { unsafe set(bytes[place], at: place) }
    }

    @inline(__always) private mutating func set(_ byte: UInt8, at place: Int) {
        if place < 8 { low |= UInt64(byte) << UInt64(8 * place) } else { high |= UInt64(byte) << UInt64(8 * (place - 8)) }
    }
}
