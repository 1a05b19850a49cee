import CodecCore
import Foundation
import HoldfastCodecs
import Testing

/// Decoding loses nothing silently and keeps nothing longer than needed.
@Suite struct CodecLosslessTests {
    @Test(arguments: BinaryCoder.allCases) func `keys that only look like integers stay texts`(coder: BinaryCoder) throws {
        let options = CodecOptions(integerKeys: true)
        let names = ["5": "a", "05": "b", "+5": "c", "-0": "d"]
        #expect(try coder.roundTrip(names, options) == names)
        #expect(try coder.value(coder.encode(["7": 1], options)) == [7: 1])
    }

    @Test(arguments: BinaryCoder.allCases) func `a dictionary does not drop a key that is not UTF-8`(coder: BinaryCoder) throws {
        var bytes = try coder.encode(["ab": 1])
        bytes[2] = 0xFF
        #expect(throws: DecodingError.self) { try coder.decode([String: Int].self, bytes) }
        // In a nested container that is decoded by itself.
        struct Nested: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                for _ in 0..<100 { _ = try [String: Int](from: list.superDecoder()) }
            }
        }
        let good = try coder.encode(["ab": 1])
        let list = try Array(coder.encode(Array(repeating: ["ab": 1], count: 100)).dropLast(100 * good.count))
        for place in [0, 50, 99] {
            let maps = (0..<100).flatMap { $0 == place ? bytes : good }
            #expect(throws: DecodingError.self) { try coder.decode(Nested.self, list + maps) }
        }
        #expect(throws: Never.self) { try coder.decode(Nested.self, list + (0..<100).flatMap { _ in good }) }
    }

    @Test(arguments: BinaryCoder.allCases) func `a decimal must use the whole text`(coder: BinaryCoder) throws {
        for text in ["12abc", "1.2.3", " 1", "1 ", "1,5", "", "-", "1e", "0x10"] {
            #expect(throws: DecodingError.self, "\(text)") { try coder.decode(Decimal.self, value: .text(text)) }
        }
        for number in [
            Decimal(string: "-12345678901234567890.125"), Decimal(sign: .plus, exponent: -100, significand: 7), Decimal.zero, .nan,
            .greatestFiniteMagnitude, Decimal(sign: .minus, exponent: 100, significand: 3),
        ] {
            let number = try #require(number)
            #expect(try coder.roundTrip(number).description == number.description)
        }
        #expect(try coder.decode(Decimal.self, value: "1.5e3") == 1500)
    }

    @Test(arguments: BinaryCoder.allCases) func `a value that cannot be encoded cannot be decoded`(coder: BinaryCoder) throws {
        for number in [1e165, -1e300, 1e-130] {
            #expect(throws: DecodingError.self, "\(number)") { try coder.decode(Decimal.self, value: .float(number)) }
        }
        let times: [Value] = [.unsigned(.max), 1e300, -1e300, .integer(.min), .integer(.max), "+292277026596-12-04T15:30:07Z"]
        for time in times { #expect(throws: DecodingError.self, "\(time)") { try coder.decode(Date.self, value: time) } }
        for form in [CodecOptions.DateForm.native, .seconds, .iso8601] {
            for seconds in [1e300, -.infinity, .nan] {
                let date = Date(timeIntervalSince1970: seconds)
                #expect(throws: EncodingError.self) { try coder.encode(date, CodecOptions(dates: form)) }
            }
            // The last possible times.
            for seconds in [9e18, -9e18] {
                let date = Date(timeIntervalSince1970: seconds)
                #expect(try coder.roundTrip(date, CodecOptions(dates: form)) == date)
            }
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `a date of any year survives a round trip as a text`(coder: BinaryCoder) throws {
        let options = CodecOptions(dates: .iso8601)
        for seconds in [-62_135_596_800, 253_402_300_799, 253_402_300_800, 1e12, -1e12] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(try coder.roundTrip(date, options) == date)
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `finished containers are released`(coder: BinaryCoder) throws {
        final class Kept { weak var decoding: AnyObject? }
        struct Item: Decodable {
            static let key = CodingUserInfoKey(rawValue: "kept")
            let kept = Kept()
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                let inner = try list.superDecoder()
                kept.decoding = Mirror(reflecting: inner).children.first { $0.label == "decoding" }?.value as AnyObject
                #expect(kept.decoding != nil)
            }
        }
        struct Items: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                var items: [Item] = []
                while !list.isAtEnd { items.append(try list.decode(Item.self)) }
                #expect(items.count == 1000)
                #expect(items.count { $0.kept.decoding != nil } < 100)
            }
        }
        _ = try coder.decode(Items.self, value: .array(Array(repeating: [1], count: 1000)))
    }
}
