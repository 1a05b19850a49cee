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
