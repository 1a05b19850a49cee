import CodecCore
import Foundation
import HoldfastCodecs

/// Our side of `Interop/codecs`: reads `HOW SOURCE TARGET HEX` lines and writes the same value in the other format.
///
/// `HOW` is `value` for a `Value`, `struct` for a ``Specimen``. The answer is `ok HEX` or `error WHY`.
enum CodecExchange {
    private struct Unknown: Error {}

    static func run() {
        while let line = readLine() {
            do {
                print("ok " + hexadecimal(try answer(line)))
            } catch {
                print("error " + "\(error)".replacingOccurrences(of: "\n", with: " "))
            }
            fflush(nil)
        }
    }

    private static func answer(_ line: String) throws -> [UInt8] {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, let bytes = bytes(words[3]) else { throw Unknown() }
        switch words[0] {
        case "value": return try written(value(bytes, String(words[1])), String(words[2]))
        case "struct": return try written(specimen(bytes, String(words[1])), String(words[2]))
        default: throw Unknown()
        }
    }

    private static func value(_ bytes: [UInt8], _ format: String) throws -> Value {
        try bytes.withUnsafeBytes {
            switch format {
            case "msgpack": try Value(decoding: $0.bytes, as: .messagePack)
            case "cbor": try Value(decoding: $0.bytes, as: .cbor)
            case "json": try Value(json: $0.bytes)
            default: throw Unknown()
            }
        }
    }

    private static func written(_ value: Value, _ format: String) throws -> [UInt8] {
        switch format {
        case "msgpack": try value.encoded(as: .messagePack)
        case "cbor": try value.encoded(as: .cbor)
        case "json": try value.json()
        default: throw Unknown()
        }
    }

    private static func specimen(_ bytes: [UInt8], _ format: String) throws -> Specimen {
        switch format {
        case "msgpack": try MessagePackDecoder().decode(Specimen.self, from: bytes)
        case "cbor": try CBORDecoder().decode(Specimen.self, from: bytes)
        default: throw Unknown()
        }
    }

    private static func written(_ specimen: Specimen, _ format: String) throws -> [UInt8] {
        switch format {
        case "msgpack": try MessagePackEncoder().encode(specimen)
        case "cbor": try CBOREncoder().encode(specimen)
        default: throw Unknown()
        }
    }

    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let values = digits.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard values.count.isMultiple(of: 2), values.allSatisfy({ $0 != nil }) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8((values[$0] ?? 0) << 4 | (values[$0 + 1] ?? 0)) }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// A struct with every kind of value.
///
/// `Interop/codecs/codecs.py` builds the same.
struct Specimen: Codable {
    enum Side: String, Codable { case buy, sell }
    enum Shape: Codable {
        case circle(radius: Double)
        case point
        case rectangle(Int, Int)
    }
    struct Level: Codable {
        let price: Double
        let size: Int
    }

    let flag: Bool
    let small: Int8
    let large: UInt64
    let price: Double
    let ratio: Float
    let name: String
    let blob: Data
    let when: Date
    let levels: [Level]
    let tags: [String: Int]
    let note: String?
    let side: Side
    let shape: Shape
}
