/// The parts of a tuple as the items of an array, for coders.
package struct PositionalParts<each Part> {
    package let parts: (repeat each Part)

    package init(parts: (repeat each Part)) { self.parts = parts }
}

extension PositionalParts: Encodable where repeat each Part: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var list = encoder.unkeyedContainer()
        repeat try list.encode(each parts)
    }
}

extension PositionalParts: Decodable where repeat each Part: Decodable {
    package init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        try self.init(from: &list)
    }

    /// Decodes the next items of an array.
    package init(from list: inout any UnkeyedDecodingContainer) throws { parts = try (repeat Self.next((each Part).self, &list)) }

    /// Decodes the next item; an item missing at the end is nil if the type allows it.
    private static func next<Target: Decodable>(_ type: Target.Type, _ list: inout any UnkeyedDecodingContainer) throws -> Target {
        if list.isAtEnd, let missing = (type as? any ExpressibleByNilLiteral.Type)?.init(nilLiteral: ()) as? Target { return missing }
        return try list.decode(type)
    }
}
