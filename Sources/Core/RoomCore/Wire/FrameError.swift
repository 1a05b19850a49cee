/// Why the bytes of a peer are not a frame of the protocol.
///
/// The error contains nothing that the peer wrote.
package struct FrameError: Error, Hashable, Sendable {
    /// The kind of an error.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: UInt8 { case truncated, malformed, text, deep, trailing, kind, missing, value, number, name, long, message }
        private let kind: Kind

        /// The bytes end before the frame is complete.
        package static let truncated = Problem(kind: .truncated)
        /// A byte is not allowed at its position in the format.
        package static let malformed = Problem(kind: .malformed)
        /// A text is not valid UTF-8.
        package static let invalidText = Problem(kind: .text)
        /// Values are nested more than 64 levels deep.
        package static let tooDeep = Problem(kind: .deep)
        /// More bytes follow the frame.
        package static let trailingBytes = Problem(kind: .trailing)
        /// A value has the wrong kind for its field.
        package static let wrongKind = Problem(kind: .kind)
        /// A required field is missing.
        package static let missing = Problem(kind: .missing)
        /// A value is not one of those that its field allows.
        package static let invalidValue = Problem(kind: .value)
        /// A number is above 2^53, or negative where that is not allowed.
        package static let outOfRange = Problem(kind: .number)
        /// A text is not a valid room or user name.
        package static let invalidName = Problem(kind: .name)
        /// A text or a list is longer than the protocol allows.
        package static let tooLong = Problem(kind: .long)
        /// A text message came where the subprotocol uses binary messages, or the other way round.
        package static let wrongMessage = Problem(kind: .message)

        /// A description of the problem.
        package var description: String {
            switch kind {
            case .truncated: "the bytes end before the frame does"
            case .malformed: "a byte is not allowed here"
            case .text: "a text is not valid UTF-8"
            case .deep: "values are nested too deeply"
            case .trailing: "bytes follow the frame"
            case .kind: "a value of the wrong kind"
            case .missing: "a field is missing"
            case .value: "a value that the field does not allow"
            case .number: "a number out of range"
            case .name: "not a valid name"
            case .long: "too long"
            case .message: "not the kind of message that the subprotocol uses"
            }
        }
    }

    /// The kind of the error.
    package let problem: Problem
    /// The protocol field that the error is about; empty if there is none.
    package let field: String
    /// The offset of the byte, from 0; nil if the encoding does not report one.
    package let offset: Int?

    /// Creates an error with its field and offset.
    package init(_ problem: Problem, field: StaticString = "", at offset: Int? = nil) {
        (self.problem, self.field, self.offset) = (problem, field.description, offset)
    }
}

extension FrameError: CustomStringConvertible {
    /// A description with the problem, the field and the byte offset.
    package var description: String {
        (field.isEmpty ? "" : "\(field): ") + "\(problem)" + (offset.map { ", at byte \($0)" } ?? "")
    }
}

/// A name of a field or frame in the protocol, stored as two numbers for fast comparison without allocation.
struct FrameWord: Equatable, ExpressibleByStringLiteral {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// A word that equals no name of the protocol.
    static let unknown: FrameWord = {
        var word = FrameWord()
        (word.low, word.high) = (.max, .max)
        return word
    }()

    private init() {}

    @inline(__always) init(stringLiteral text: StaticString) {
        for place in 0..<min(text.utf8CodeUnitCount, 16) { unsafe set(text.utf8Start[place], at: place) }
    }

    /// Creates the word for these bytes; ``unknown`` if there are more than 16 bytes, or none.
    init(_ bytes: UnsafeRawBufferPointer) {
        // Unused bytes of the two numbers are 0.
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
