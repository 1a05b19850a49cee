import CodecCore
import Foundation
import HoldfastCodecs
import Testing

@Suite struct CodecFeatureTests {
    struct Scalars: Codable, Equatable {
        var bool = true
        var int = Int.min
        var int8 = Int8.min
        var int16 = Int16.min
        var int32 = Int32.min
        var int64 = Int64.max
        var uint = UInt.max
        var uint8 = UInt8.max
        var uint16 = UInt16.max
        var uint32 = UInt32.max
        var uint64 = UInt64.max
        var double = 0.1
        var float = Float(0.1)
        var string = "größer 😀"
        var data = Data([0, 255, 7])
        var date = Date(timeIntervalSinceReferenceDate: 800_000_000.5)
        var url = URL(string: "https://example.com/a?b=c")
        var uuid = UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")
        var decimal = Decimal(string: "12345.678")
        var none: Int?
        var some: Int? = 3
        var nested: [[Int?]] = [[1, nil], [], [-1]]
        var names = ["a": 1, "b": 2]
        var numbers = [1: "a", -2: "b"]
        var pairs = [CodecPair(x: 1): 2.5]
        var range = 1..<5
        var shapes: [Shape] = [.circle(radius: 2.5), .named("x", 3), .empty]
        var integral = 3.0
        var chain: [Chain] = [Chain(next: [Chain(next: [])])]
    }
    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case named(String, Int)
        case empty
    }
    struct CodecPair: Codable, Hashable { var x: Int }
    struct Chain: Codable, Equatable { var next: [Chain] }
    struct Empty: Codable, Equatable {}

    @Test(arguments: BinaryCoder.allCases) func `every type survives a round trip`(coder: BinaryCoder) throws {
        #expect(try coder.roundTrip(Scalars()) == Scalars())
        #expect(try coder.roundTrip([Scalars(), Scalars()]) == [Scalars(), Scalars()])
        let integerKeys = CodecOptions(integerKeys: true)
        #expect(try coder.roundTrip(Scalars(), integerKeys) == Scalars())
    }

    @Test func `values decoded from Foundation's JSON survive a round trip`() throws {
        let json = try JSONDecoder().decode(Scalars.self, from: JSONEncoder().encode(Scalars()))
        #expect(json == Scalars())
        for coder in BinaryCoder.allCases { #expect(try coder.roundTrip(json) == json) }
    }

    @Test func `every type survives a conversion to a generic value`() throws {
        let value = try ValueEncoder().encode(Scalars())
        #expect(try ValueDecoder().decode(Scalars.self, from: value) == Scalars())
        #expect(value["data"] == .bytes([0, 255, 7]))
        #expect(value["uint64"] == .unsigned(.max))
        #expect(value["date"]?.time?.nanoseconds == 500_000_000)
        #expect(value["none"]?.isNull == nil)
        #expect(value["nested"] == [[1, nil], [], [-1]])
    }

    @Test(arguments: BinaryCoder.allCases) func `scalars may be top-level values`(coder: BinaryCoder) throws {
        #expect(try coder.roundTrip(5) == 5)
        #expect(try coder.roundTrip("a") == "a")
        #expect(try coder.roundTrip(true))
        #expect(try coder.roundTrip(Int?.none) == nil)
        #expect(try coder.roundTrip([Int]()) == [])
        #expect(try coder.roundTrip(Float(1.5)) == 1.5)
        #expect(try coder.roundTrip(Data([1])) == Data([1]))
        #expect(try coder.roundTrip(Double.nan).isNaN)
        #expect(try coder.roundTrip(Empty()) == Empty())
        #expect(try coder.roundTrip([Empty(), Empty()]) == [Empty(), Empty()])
        #expect(try coder.encode([Empty()]).count == 2)
    }

    @Test(arguments: BinaryCoder.allCases) func `containers of any length have the matching head`(coder: BinaryCoder) throws {
        for count in [0, 15, 16, 23, 24, 255, 256, 300] {
            let list = Array(repeating: [1], count: count)
            #expect(try coder.roundTrip(list) == list)
            let map = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", [$0]) })
            #expect(try coder.roundTrip(["in": map]) == ["in": map])
        }
        for count in [65535, 65536] { #expect(try coder.roundTrip([[Bool](repeating: true, count: count)])[0].count == count) }
    }

    @Test func `the bytes follow the format`() throws {
        struct Point: Codable { var x = 1, y = 2.5 }
        let point = Point()
        #expect(try MessagePackEncoder().encode(point) == [0x82, 0xA1, 0x78, 1, 0xA1, 0x79, 0xCA, 0x40, 0x20, 0, 0])
        #expect(try CBOREncoder().encode(point) == [0xA2, 0x61, 0x78, 1, 0x61, 0x79, 0xF9, 0x41, 0])
        #expect(try MessagePackEncoder().encode(Data([1, 2])) == [0xC4, 2, 1, 2])
        #expect(try CBOREncoder().encode(Data([1, 2])) == [0x42, 1, 2])
        #expect(try MessagePackEncoder().encode(Date(timeIntervalSince1970: 1)) == [0xD6, 0xFF, 0, 0, 0, 1])
        #expect(try CBOREncoder().encode(Date(timeIntervalSince1970: 1)) == [0xC1, 1])
    }

    @Test func `integer keys are encoded on request and always decoded`() throws {
        struct Compact: Codable, Equatable {
            var name = "n", age = 7, other = -1
            enum CodingKeys: Int, CodingKey { case name = 1, age = 2, other = -300 }
        }
        let options = CodecOptions(integerKeys: true)
        let bytes = try CBOREncoder(options: options).encode(Compact())
        #expect(bytes == [0xA3, 1, 0x61, 0x6E, 2, 7, 0x39, 0x01, 0x2B, 0x20])
        for coder in BinaryCoder.allCases {
            #expect(try coder.decode(Compact.self, coder.encode(Compact(), options)) == Compact())
            #expect(try coder.decode([Int: String].self, value: [5: "a", -7: "b"]) == [5: "a", -7: "b"])
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `integer keys are distinguished in all bits`(coder: BinaryCoder) throws {
        struct Target: Decodable, Equatable {
            var zero: Int, below: Int, least: Int, most: Int
            enum CodingKeys: Int, CodingKey {
                case zero = 0, below = -1, least = -9_223_372_036_854_775_808, most = 9_223_372_036_854_775_807
            }
        }
        let value: Value = [-1: 1, .integer(.max): 2, .integer(.min): 3, 0: 4, .unsigned(.max): 5]
        let target = try coder.decode(Target.self, value: value)
        #expect(target == Target(zero: 4, below: 1, least: 3, most: 2))
    }

    @Test(arguments: BinaryCoder.allCases) func `dates are encoded in the chosen form and decoded in any form`(coder: BinaryCoder) throws {
        let date = Date(timeIntervalSince1970: 1_363_896_240.5)
        for form in [CodecOptions.DateForm.native, .seconds, .iso8601] {
            #expect(try coder.decode(Date.self, coder.encode(date, CodecOptions(dates: form))) == date)
        }
        #expect(try coder.value(coder.encode(date, CodecOptions(dates: .seconds))) == 1_363_896_240.5)
        #expect(try coder.value(coder.encode(date, CodecOptions(dates: .iso8601))) == "2013-03-21T20:04:00.5Z")
        #expect(try coder.value(coder.encode(date)).time == Timestamp("2013-03-21T20:04:00.5Z"))
        #expect(try coder.decode(Date.self, value: 1_363_896_240) == date.addingTimeInterval(-0.5))
        #expect(try coder.decode(Date.self, value: -1).timeIntervalSince1970 == -1)
        #expect(throws: DecodingError.self) { try coder.decode(Date.self, value: "yesterday") }
        #expect(throws: EncodingError.self) { try coder.encode(Date(timeIntervalSince1970: .nan)) }
    }

    @Test func `a date of this century survives a MessagePack round trip exactly`() throws {
        for step in 0..<1000 {
            let date = Date(timeIntervalSinceReferenceDate: 812_345_678.123456789 + Double(step) * 1_234.56789)
            #expect(try BinaryCoder.messagePack.roundTrip(date) == date)
        }
    }

    @Test func `tags before a value are skipped`() throws {
        let tagged: Value = .tagged(55799, ["x": .tagged(0, "1970-01-01T00:00:01Z"), "y": .tagged(9, .tagged(8, 7)), "z": .tagged(5, [1])])
        struct Target: Codable, Equatable { var x: Date, y: Int, z: [Int] }
        let target = Target(x: Date(timeIntervalSince1970: 1), y: 7, z: [1])
        #expect(try BinaryCoder.cbor.decode(Target.self, value: tagged) == target)
    }

    @Test func `indefinite-length CBOR values are decoded`() throws {
        // {_ (_ "a"): [_ 1, 2], "b": (_ "x", "y"), "c": (_ h'01', h'02')}
        let bytes: [UInt8] = [
            0xBF, 0x7F, 0x61, 0x61, 0xFF, 0x9F, 1, 2, 0xFF, 0x61, 0x62, 0x7F, 0x61, 0x78, 0x61, 0x79, 0xFF, 0x61, 0x63, 0x5F, 0x41, 1, 0x41,
            2, 0xFF, 0xFF,
        ]
        struct Target: Codable, Equatable { var a: [Int], b: String, c: Data }
        #expect(try BinaryCoder.cbor.decode(Target.self, bytes) == Target(a: [1, 2], b: "xy", c: Data([1, 2])))
        #expect(try BinaryCoder.cbor.decode([String: LazyValue].self, bytes).count == 3)
        struct Less: Codable, Equatable { var c: Data }
        // Undefined is decoded as null.
        #expect(try BinaryCoder.cbor.decode([Int?].self, [0x82, 0xF7, 1]) == [nil, 1])
        #expect(try BinaryCoder.cbor.decode([Less].self, [0x9F] + bytes + bytes + [0xFF]).count == 2)
    }

    @Test(arguments: BinaryCoder.allCases) func `types get the user info of the options`(coder: BinaryCoder) throws {
        struct Marked: Codable, Equatable {
            static let key = CodingUserInfoKey(rawValue: "mark")
            var mark: String?
            init() {}
            init(from decoder: any Decoder) throws { mark = Self.key.flatMap { decoder.userInfo[$0] as? String } }
            func encode(to encoder: any Encoder) throws {
                var single = encoder.singleValueContainer()
                try single.encode(Self.key.flatMap { encoder.userInfo[$0] as? String })
            }
        }
        let options = try CodecOptions(userInfo: [#require(Marked.key): "here"])
        #expect(try coder.value(coder.encode(Marked(), options)) == "here")
        #expect(try coder.decode([Marked].self, value: [1, [2, 3]], options).map(\.mark) == ["here", "here"])
    }
}
