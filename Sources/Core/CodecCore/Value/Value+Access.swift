import MachineCore

extension Value {
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
