import CodecCore
import Foundation
import HoldfastCodecs
import Testing

@Suite struct CodecErrorTests {
    struct Inner: Codable { var small: Int8, list: [[String: UInt8]]? }
    struct Outer: Codable { var items: [Inner] }

    private func failure<Target: Decodable>(_ coder: BinaryCoder, _ type: Target.Type, _ value: Value) -> (String, String)? {
        do {
            _ = try coder.decode(type, value: value)
            return nil
        } catch let error as DecodingError {
            func describe(_ kind: String, _ context: DecodingError.Context) -> (String, String) {
                (kind, context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined())
            }
            switch error {
            case .typeMismatch(_, let context): return describe("mismatch", context)
            case .valueNotFound(_, let context): return describe("no value", context)
            case .keyNotFound(let key, let context): return describe("no key \(key.stringValue)", context)
            case .dataCorrupted(let context): return describe("corrupted", context)
            @unknown default: return nil
            }
        } catch { return ("\(error)", "") }
    }

    @Test(arguments: BinaryCoder.allCases) func `an error has its kind and its coding path`(coder: BinaryCoder) {
        func expect(_ items: Value, _ kind: String, _ path: String) {
            let found = failure(coder, Outer.self, ["items": items])
            #expect(found?.0 == kind)
            #expect(found?.1 == path)
        }
        expect([["small": 1], ["small": 128]], "corrupted", ".items[1].small")
        expect([["small": 1], ["small": -129]], "corrupted", ".items[1].small")
        expect([["small": 1.5]], "corrupted", ".items[0].small")
        expect([["small": "1"]], "mismatch", ".items[0].small")
        expect([["small": nil]], "no value", ".items[0].small")
        expect([["small": 1, "list": [[:], ["k": 1, "key": 256]]]], "corrupted", ".items[0].list[1].key")
        expect([["list": [["k": -1]], "small": 1]], "corrupted", ".items[0].list[0].k")
        expect([["small": 1], [:]], "no key small", ".items[1]")
        expect([["small": 1], 5], "mismatch", ".items[1]")
        expect(7, "mismatch", ".items")
        expect(nil, "no value", ".items")
        let top = failure(coder, Outer.self, [1])
        #expect(top?.0 == "mismatch" && top?.1 == "")
    }

    @Test(arguments: BinaryCoder.allCases) func `a number must fit its type exactly, but a float may be rounded`(coder: BinaryCoder) throws
    {
        #expect(try coder.decode(Int.self, value: 3.0) == 3)
        #expect(try coder.decode(Double.self, value: 3) == 3)
        #expect(try coder.decode(Double.self, value: -3) == -3)
        #expect(try coder.decode(Float.self, value: 0.1) == 0.1)
        #expect(try coder.decode(Float.self, value: .float(.infinity)) == .infinity)
        #expect(try coder.decode(UInt64.self, value: .unsigned(.max)) == .max)
        for value in [.float(0.5), .float(1e19), .float(.nan), .unsigned(1 << 63)] as [Value] {
            #expect(failure(coder, Int.self, value)?.0 == "corrupted")
        }
        #expect(failure(coder, UInt.self, -1)?.0 == "corrupted")
        #expect(failure(coder, Float.self, 1e300)?.0 == "corrupted")
        #expect(failure(coder, Double.self, 9_007_199_254_740_993)?.0 == "corrupted")
        #expect(failure(coder, Bool.self, 1)?.0 == "mismatch")
        #expect(failure(coder, String.self, .bytes([1]))?.0 == "mismatch")
        #expect(failure(coder, Data.self, "x")?.0 == "mismatch")
        #expect(failure(coder, URL.self, "")?.0 == "corrupted")
        #expect(failure(coder, Decimal.self, "x")?.0 == "corrupted")
    }

    @Test func `an integer below the range of 64 bits does not fit`() {
        let bytes = [0x3B] + [UInt8](repeating: 255, count: 8)
        #expect(throws: DecodingError.self) { try CBORDecoder().decode(Int.self, from: bytes) }
        #expect(throws: DecodingError.self) { try CBORDecoder().decode(Double.self, from: bytes) }
    }

    @Test(arguments: BinaryCoder.allCases) func `an array with too few values is an error`(coder: BinaryCoder) {
        #expect(failure(coder, Range<Int>.self, [1])?.0 == "no value")
    }

    @Test(arguments: BinaryCoder.allCases) func `trailing bytes and invalid UTF-8 are errors with their offset`(coder: BinaryCoder)
        throws
    {
        func place(_ bytes: [UInt8]) -> CodecError? {
            do { _ = try coder.decode([String].self, bytes) } catch DecodingError.dataCorrupted(let context) {
                return context.underlyingError as? CodecError
            } catch {}
            return nil
        }
        let list = try coder.encode(["ab"])
        #expect(place(list + [0]) == CodecError(.trailingBytes, at: list.count))
        #expect(place(list.dropLast() + [0xFF]) == CodecError(.invalidText, at: 2))
        #expect(place(Array(list.dropLast())) == CodecError(.truncated, at: 3))
    }

    @Test(arguments: BinaryCoder.allCases) func `depth is limited in both directions`(coder: BinaryCoder) throws {
        struct Deep: Codable { var next: [Deep] }
        let limits = CodecOptions(limits: CodecLimits(maximumDepth: 6))
        func deep(_ levels: Int) -> Deep { (1..<levels).reduce(Deep(next: [])) { deep, _ in Deep(next: [deep]) } }
        #expect(throws: Never.self) { try coder.decode(Deep.self, coder.encode(deep(3), limits), limits) }
        #expect(throws: EncodingError.self) { try coder.encode(deep(4), limits) }
        #expect(throws: DecodingError.self) { try coder.decode(Deep.self, coder.encode(deep(4)), limits) }
        #expect(throws: DecodingError.self) { try coder.decode(Value.self, coder.encode(deep(4)), limits) }
        let deeper = CodecOptions(limits: CodecLimits(maximumDepth: 200))
        #expect(throws: Never.self) { try coder.roundTrip(deep(90), deeper) }
        #expect(throws: EncodingError.self) { try coder.encode(deep(90)) }
        #expect(throws: DecodingError.self) { try coder.decode(Deep.self, coder.encode(deep(90), deeper)) }
    }

    @Test(arguments: BinaryCoder.allCases) func `depth is limited in nested containers, too`(coder: BinaryCoder) throws {
        // {"more": {"_0": ...}} has two levels, and the inner one is a nested container.
        indirect enum Nested: Codable { case end, more(Nested) }
        func nested(_ levels: Int) -> Nested { (1..<levels).reduce(Nested.end) { nested, _ in .more(nested) } }
        let limits = CodecOptions(limits: CodecLimits(maximumDepth: 6))
        #expect(throws: Never.self) { try coder.decode(Nested.self, coder.encode(nested(3), limits), limits) }
        #expect(throws: EncodingError.self) { try coder.encode(nested(4), limits) }
        #expect(throws: DecodingError.self) { try coder.decode(Nested.self, coder.encode(nested(4)), limits) }
    }

    @Test(arguments: BinaryCoder.allCases) func `a generic value may use the levels that its position leaves`(coder: BinaryCoder) throws {
        let limits = CodecOptions(limits: CodecLimits(maximumDepth: 4))
        #expect(try coder.decode([[Value]].self, value: [[[[1]]]], limits) == [[[[1]]]])
        #expect(throws: DecodingError.self) { try coder.decode([[Value]].self, value: [[[[[1]]]]], limits) }
        struct Inner: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                _ = try Value(from: list.superDecoder())
            }
        }
        #expect(throws: Never.self) { try coder.decode(Inner.self, value: [[[[1]]]], limits) }
        #expect(throws: DecodingError.self) { try coder.decode(Inner.self, value: [[[[[1]]]]], limits) }
    }

    @Test(arguments: BinaryCoder.allCases) func `size is limited in both directions`(coder: BinaryCoder) throws {
        let limits = CodecOptions(limits: CodecLimits(maximumBytes: 4))
        #expect(try coder.roundTrip("abc", limits) == "abc")
        #expect(throws: EncodingError.self) { try coder.encode("abcd", limits) }
        #expect(throws: DecodingError.self) { try coder.decode(String.self, coder.encode("abcd"), limits) }
    }

    @Test(arguments: BinaryCoder.allCases) func `encoding nothing, twice, or in two shapes is an error`(coder: BinaryCoder) {
        struct Bad: Encodable {
            let write: @Sendable (any Encoder) throws -> Void
            func encode(to encoder: any Encoder) throws { try write(encoder) }
        }
        #expect(throws: EncodingError.self) { try coder.encode(Bad { _ in }) }
        #expect(throws: EncodingError.self) {
            try coder.encode(
                Bad {
                    var single = $0.singleValueContainer()
                    try single.encode(1)
                    try single.encode(2)
                })
        }
        #expect(throws: EncodingError.self) {
            try coder.encode(
                Bad {
                    _ = $0.container(keyedBy: CodecStepKey.self)
                    _ = $0.unkeyedContainer()
                })
        }
        // A value encodes to the outer container while its own is open.
        struct Meddling: Encodable {
            let around: KeyedEncodingContainer<CodecStepKey>
            func encode(to encoder: any Encoder) throws {
                var (own, around) = (encoder.container(keyedBy: CodecStepKey.self), around)
                try around.encode(1, forKey: .a)
                try own.encode(2, forKey: .a)
            }
        }
        #expect(throws: EncodingError.self) {
            try coder.encode(
                Bad {
                    var fields = $0.container(keyedBy: CodecStepKey.self)
                    try fields.encode(Meddling(around: fields), forKey: .a)
                })
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `an encoding error has its coding path`(coder: BinaryCoder) {
        struct Path: Encodable {
            var list = [["key": Date(timeIntervalSince1970: .nan)]]
        }
        do {
            _ = try coder.encode(Path())
            Issue.record("no error")
        } catch EncodingError.invalidValue(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["list", "Index 0", "key"])
        } catch { Issue.record(error) }
    }

    @Test(arguments: BinaryCoder.allCases) func `a truncated or changed payload causes no trap`(coder: BinaryCoder) throws {
        let sample = CodecFeatureTests.Scalars()
        let whole = try coder.encode(sample)
        for end in whole.indices {
            #expect(throws: DecodingError.self) { try coder.decode(CodecFeatureTests.Scalars.self, Array(whole[..<end])) }
        }
        for index in whole.indices {
            for byte in [0x9F, 0xC1, 0xFF, whole[index] &+ 1] as [UInt8] {
                var changed = whole
                changed[index] = byte
                do { _ = try coder.decode(CodecFeatureTests.Scalars.self, changed) } catch { #expect(error is DecodingError) }
            }
        }
    }
}
