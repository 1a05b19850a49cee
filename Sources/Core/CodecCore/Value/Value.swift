import MachineCore

/// Data of a shape that is not known beforehand: what JSON, MessagePack and CBOR can say.
///
/// Two values are equal if they are written alike: 1 is not 1.0, and maps compare with the order of their entries.
public enum Value: Hashable, Sendable {
    /// Nothing.
    case null
    /// True or false.
    case bool(Bool)
    /// An integer.
    case integer(Int64)
    /// An integer above `Int64.max`; one that fits an `Int64` is never written so by this library.
    case unsigned(UInt64)
    /// A floating-point number.
    case float(Double)
    /// A text.
    case text(String)
    /// Bytes.
    case bytes([UInt8])
    /// Values in their order.
    case array([Value])
    /// Keys with their values.
    case map(ValueMap)
    /// A point in time.
    case timestamp(Timestamp)
    /// MessagePack: bytes of an application's type.
    case `extension`(type: Int8, [UInt8])
    /// CBOR: a value, and a number that says how to understand it.
    indirect case tagged(UInt64, Value)

    /// An integer, as the case that this library writes it with.
    public init(_ number: UInt64) { self = Int64(exactly: number).map { .integer($0) } ?? .unsigned(number) }

    /// Whether it is the same key, byte by byte: comparing texts as Unicode does takes the square of their length at worst.
    fileprivate func isSame(_ other: Value) -> Bool {
        if case .text(let one) = self, case .text(let two) = other, one.utf8.count != two.utf8.count { return false }
        return self == other
    }

    /// Whether this is nothing.
    public var isNull: Bool { self == .null }

    /// True or false, or nil if this is neither.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The integer if it fits, or nil; a floating-point number is none.
    public var int: Int? {
        switch self {
        case .integer(let number): Int(exactly: number)
        case .unsigned(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The number, integer or not, rounded to the nearest double; or nil.
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

    /// The bytes, or nil.
    public var byteArray: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// The values of an array, or nil.
    public var items: [Value]? { if case .array(let items) = self { items } else { nil } }

    /// The entries of a map, or nil.
    public var entries: ValueMap? { if case .map(let map) = self { map } else { nil } }

    /// The point in time, also of a text under the tag 0 of CBOR; or nil.
    public var time: Timestamp? {
        switch self {
        case .timestamp(let time): time
        case .tagged(0, .text(let text)): Timestamp(text)
        default: nil
        }
    }

    /// The value of this key in a map, or nil.
    public subscript(key: String) -> Value? { entries?[.text(key)] }

    /// The value at this place of an array, or of this key in a map; or nil.
    public subscript(place: Int) -> Value? {
        switch self {
        // Beside a value, `nil` alone would be the literal of null.
        case .array(let items): items.indices.contains(place) ? items[place] : Value?.none
        case .map(let map): map[.integer(Int64(place))]
        default: nil
        }
    }
}

/// Keys with their values, in the order in which they came.
///
/// A key may be any value. Where one stands twice, both are kept, and the first is found.
public struct ValueMap: Hashable, Sendable {
    /// A key with its value.
    public struct Entry: Hashable, Sendable {
        /// The key.
        public var key: Value
        /// What stands under it.
        public var value: Value

        /// A key with its value.
        public init(key: Value, value: Value) { (self.key, self.value) = (key, value) }
    }

    /// All entries, in order.
    public var entries: [Entry]

    /// A map of these entries.
    public init(_ entries: [Entry] = []) { self.entries = entries }

    /// The value of a key; setting nil removes all of that key.
    ///
    /// It looks at one entry after the other. Texts are the same if their bytes are.
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
    /// A map of these entries, in their order.
    public init(dictionaryLiteral elements: (Value, Value)...) { entries = elements.map { Entry(key: $0.0, value: $0.1) } }
}

extension ValueMap: RandomAccessCollection {
    /// The first place.
    public var startIndex: Int { entries.startIndex }
    /// The place after the last.
    public var endIndex: Int { entries.endIndex }
    /// The entry at a place.
    public subscript(position: Int) -> Entry { entries[position] }
}

extension Value: CustomStringConvertible {
    /// The value in CBOR's diagnostic notation, RFC 8949 §8, which is JSON where JSON can say it; extensions as `ext(5, h'00ff')`.
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
    /// Null: where Swift takes `nil` for a `Value`, not for a `Value?` that is missing.
    public init(nilLiteral: ()) { self = .null }
    /// True or false.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .float(value) }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// An array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    /// A map with its entries in this order.
    public init(dictionaryLiteral elements: (Value, Value)...) {
        self = .map(ValueMap(elements.map { ValueMap.Entry(key: $0.0, value: $0.1) }))
    }
}
