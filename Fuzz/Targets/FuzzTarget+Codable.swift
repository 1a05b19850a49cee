import Foundation
import HoldfastCodecs

extension FuzzTarget {
    /// A decoded value is encoded, and must be decoded to the same value.
    static func codable(_ input: inout FuzzInput) throws {
        let isCBOR = input.byte() % 2 == 1
        let read: (RawSpan) throws -> FuzzedStruct = {
            isCBOR ? try CBORDecoder().decode(FuzzedStruct.self, from: $0) : try MessagePackDecoder().decode(FuzzedStruct.self, from: $0)
        }
        let write: (FuzzedStruct) throws -> [UInt8] = { isCBOR ? try CBOREncoder().encode($0) : try MessagePackEncoder().encode($0) }
        let value: FuzzedStruct
        do { value = try read(input.rest.bytes) } catch {
            return try expect(error is DecodingError, "\(type(of: error)) instead of a DecodingError: \(error)")
        }
        let written = try write(value)
        // Bytes are compared instead of values, because NaN is not equal to itself.
        let again = try write(written.withUnsafeBytes { try read($0.bytes) })
        try expectEqual(again, written, "what was written reads otherwise: \(value)")
    }
}

/// A struct with every kind of value.
private struct FuzzedStruct: Codable {
    enum Side: String, Codable { case buy, sell }
    indirect enum Shape: Codable {
        case circle(radius: Double)
        case group([Shape])
    }
    struct Level: Codable {
        let price: Float
        let size: UInt16
    }
    /// A dictionary that is written in order, because otherwise the order varies.
    struct Sides: Codable {
        struct Number: CodingKey {
            let intValue: Int?
            let stringValue: String

            init(intValue: Int) { (self.intValue, stringValue) = (intValue, "\(intValue)") }
            init?(stringValue: String) { nil }
        }
        let sides: [Int: Side]

        init(from decoder: any Decoder) throws { sides = try decoder.singleValueContainer().decode([Int: Side].self) }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Number.self)
            for (number, side) in sides.sorted(by: { $0.key < $1.key }) { try container.encode(side, forKey: Number(intValue: number)) }
        }
    }
    class Base: Codable { let id: Int8 }
    final class Derived: Base {
        let name: String
        private enum CodingKeys: CodingKey { case name }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            try super.encode(to: container.superEncoder())
        }
    }

    let flag: Bool?
    let number: Int?
    let large: UInt64?
    let price: Double?
    let text: String?
    let blob: Data?
    let when: Date?
    let id: UUID?
    let exact: Decimal?
    let place: URL?
    let levels: [Level]?
    let byNumber: Sides?
    let shape: Shape?
    let object: Derived?
    let body: LazyValue?
}
