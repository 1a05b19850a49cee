/// A plain value in a shared document: what JavaScript's editors store in maps, arrays, attributes and embeds.
///
/// Numbers are doubles, as in JavaScript. A big integer is a type of its own there, and so here.
public enum DocumentValue: Hashable, Sendable {
    /// JavaScript's `undefined`. JSON has no such value.
    case undefined
    /// Null.
    case null
    /// True or false.
    case bool(Bool)
    /// A number.
    case number(Double)
    /// A 64-bit integer (JavaScript's BigInt).
    case bigInteger(Int64)
    /// A text.
    case text(String)
    /// A byte string.
    case bytes([UInt8])
    /// An array of values.
    case array([DocumentValue])
    /// Keys and values, in their original order.
    case object([Entry])

    /// A key of an object and its value.
    public struct Entry: Hashable, Sendable {
        /// The key.
        public var key: String
        /// The value.
        public var value: DocumentValue

        /// Creates an entry.
        public init(_ key: String, _ value: DocumentValue) { (self.key, self.value) = (key, value) }
    }

    /// Whether this is null or undefined.
    public var isNull: Bool { self == .null || self == .undefined }

    /// The value of a key of an object, or nil.
    public subscript(key: String) -> DocumentValue? {
        if case .object(let entries) = self { entries.last { $0.key.utf8.elementsEqual(key.utf8) }?.value } else { nil }
    }

    /// Whether JavaScript's `===` holds for both values.
    ///
    /// It never holds for arrays, objects and byte strings of different origin, and not for NaN.
    func isIdentical(to other: DocumentValue) -> Bool {
        switch (self, other) {
        case (.number(let one), .number(let two)): one == two
        case (.text(let one), .text(let two)): one.utf8.elementsEqual(two.utf8)
        case (.array, _), (.object, _), (.bytes, _): false
        default: self == other
        }
    }

    /// Whether Yjs takes both as the same value of a mark: identical, or objects whose values are identical one by one.
    func isSameMark(as other: DocumentValue) -> Bool {
        switch (self, other) {
        case (.object(let one), .object(let two)):
            guard one.count == two.count else { return false }
            let values = Dictionary(two.map { (Contents.Name(text: $0.key), $0.value) }) { $1 }
            return one.allSatisfy { values[Contents.Name(text: $0.key)]?.isIdentical(to: $0.value) ?? false }
        case (.array(let one), .array(let two)):
            return one.count == two.count && zip(one, two).allSatisfy { $0.isIdentical(to: $1) }
        default: return isIdentical(to: other)
        }
    }
}

extension DocumentValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// Creates a text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates true or false.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
}
