import MachineCore

/// Data without a static type: everything that JSON, MessagePack and CBOR can represent.
///
/// Two values are equal if they are encoded alike: 1 is not equal to 1.0, and the order of entries matters in maps.
public enum Value: Hashable, Sendable {
    /// Null.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// An integer above `Int64.max`. This library never uses it for a number that fits an `Int64`.
    case unsigned(UInt64)
    /// A floating-point number.
    case float(Double)
    /// A text.
    case text(String)
    /// A byte string.
    case bytes([UInt8])
    /// An array of values.
    case array([Value])
    /// A map of keys to values.
    case map(ValueMap)
    /// A point in time.
    case timestamp(Timestamp)
    /// MessagePack: an extension with its type.
    case `extension`(type: Int8, [UInt8])
    /// CBOR: a value with a tag that says how to interpret it.
    indirect case tagged(UInt64, Value)

    /// Creates an integer in the case that this library uses for it.
    public init(_ number: UInt64) { self = Int64(exactly: number).map { .integer($0) } ?? .unsigned(number) }

    /// Returns whether it is the same key.
    ///
    /// Unequal lengths are checked first, because comparing texts as Unicode takes quadratic time at worst.
    fileprivate func isSame(_ other: Value) -> Bool {
        if case .text(let one) = self, case .text(let two) = other, one.utf8.count != two.utf8.count { return false }
        return self == other
    }

    /// Whether this is null.
    public var isNull: Bool { self == .null }

    /// The Boolean, or nil for any other value.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The integer if it fits, or nil.
    ///
    /// Nil for floating-point numbers.
    public var int: Int? {
        switch self {
        case .integer(let number): Int(exactly: number)
        case .unsigned(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The number, integer or not, rounded to the nearest double, or nil.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .float(let number): number
        default: nil
        }
    }

    /// The text, or nil.
    public var string: String? { if case .text(let text) = self { text } else { nil } }

    /// The byte string, or nil.
    public var byteArray: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// The values of an array, or nil.
    public var items: [Value]? { if case .array(let items) = self { items } else { nil } }

    /// The entries of a map, or nil.
    public var entries: ValueMap? { if case .map(let map) = self { map } else { nil } }

    /// The point in time, also from a text with CBOR tag 0, or nil.
    public var time: Timestamp? {
        switch self {
        case .timestamp(let time): time
        case .tagged(0, .text(let text)): Timestamp(text)
        default: nil
        }
    }

    /// The value of this key in a map, or nil.
    public subscript(key: String) -> Value? { entries?[.text(key)] }

    /// The value at this index of an array, or of this key in a map, or nil.
    public subscript(place: Int) -> Value? {
        switch self {
        // Next to a `Value`, a plain `nil` would be the literal of null.
        case .array(let items): items.indices.contains(place) ? items[place] : Value?.none
        case .map(let map): map[.integer(Int64(place))]
        default: nil
        }
    }
}

/// A map with its entries in their original order.
///
/// A key may be any value. If a key is repeated, all entries are kept, and lookups find the first.
public struct ValueMap: Hashable, Sendable {
    /// A key and its value.
    public struct Entry: Hashable, Sendable {
        /// The key.
        public var key: Value
        /// The value.
        public var value: Value

        /// Creates an entry.
        public init(key: Value, value: Value) { (self.key, self.value) = (key, value) }
    }

    /// All entries, in order.
    public var entries: [Entry]

    /// Creates a map of these entries.
    public init(_ entries: [Entry] = []) { self.entries = entries }

    /// The value of a key.
    ///
    /// Setting nil removes all entries of that key.
    ///
    /// The search is linear. Texts are compared by their bytes.
    public subscript(key: Value) -> Value? {
        get { entries.first { $0.key.isSame(key) }?.value }
        set {
            guard let newValue else { return entries.removeAll { $0.key.isSame(key) } }
            if let index = entries.firstIndex(where: { $0.key.isSame(key) }) {
                entries[index].value = newValue
            } else {
                entries.append(Entry(key: key, value: newValue))
            }
        }
    }
}

extension ValueMap: ExpressibleByDictionaryLiteral {
    /// Creates a map of these entries, in order.
    public init(dictionaryLiteral elements: (Value, Value)...) { entries = elements.map { Entry(key: $0.0, value: $0.1) } }
}

extension ValueMap: RandomAccessCollection {
    /// The first index.
    public var startIndex: Int { entries.startIndex }
    /// The index after the last entry.
    public var endIndex: Int { entries.endIndex }
    /// The entry at an index.
    public subscript(position: Int) -> Entry { entries[position] }
}

extension Value: CustomStringConvertible {
    /// The value in CBOR's diagnostic notation (RFC 8949 §8), which is JSON where possible; extensions as `ext(5, h'00ff')`.
    public var description: String {
        var text = ""
        describe(into: &text)
        return text
    }

    private func describe(into text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let number): text += "\(number)"
        case .unsigned(let number): text += "\(number)"
        case .float(let number): text += number.isNaN ? "NaN" : number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)"
        case .text(let string): text += string.inJSON
        case .bytes(let bytes): text += "h'\(Hexadecimal.text(bytes))'"
        case .array(let items):
            text += "["
            for (index, item) in items.enumerated() {
                if index > 0 { text += ", " }
                item.describe(into: &text)
            }
            text += "]"
        case .map(let map):
            text += "{"
            for (index, entry) in map.enumerated() {
                if index > 0 { text += ", " }
                entry.key.describe(into: &text)
                text += ": "
                entry.value.describe(into: &text)
            }
            text += "}"
        case .timestamp(let time): text += "0(\"\(time)\")"
        case .extension(let type, let bytes): text += "ext(\(type), h'\(Hexadecimal.text(bytes))')"
        case .tagged(let tag, let value):
            text += "\(tag)("
            value.describe(into: &text)
            text += ")"
        }
    }
}

extension Value: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// Creates null.
    ///
    /// Applies where Swift infers `nil` as a `Value`, not as a missing `Value?`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self = .float(value) }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// Creates a text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates an array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    /// Creates a map with its entries in this order.
    public init(dictionaryLiteral elements: (Value, Value)...) {
        self = .map(ValueMap(elements.map { ValueMap.Entry(key: $0.0, value: $0.1) }))
    }
}
