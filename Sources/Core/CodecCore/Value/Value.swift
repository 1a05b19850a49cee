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

extension Value {
    /// Whether it is the same key, byte by byte: comparing texts as Unicode does takes the square of their length at worst.
    fileprivate func isSame(_ other: Value) -> Bool {
        if case .text(let one) = self, case .text(let two) = other, one.utf8.count != two.utf8.count { return false }
        return self == other
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
