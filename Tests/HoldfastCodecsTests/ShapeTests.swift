import CodecCore
import Foundation
import HoldfastCodecs
import Testing

/// Containers in every order and combination that `Codable` allows.
@Suite struct CodecShapeTests {
    class Animal: Codable {
        var name = "Rex"
        init() {}
    }
    final class Dog: Animal {
        var age = 3
        private enum CodingKeys: String, CodingKey { case age, sort }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            age = try fields.decode(Int.self, forKey: .age)
            try super.init(from: fields.superDecoder())
            #expect(try fields.decode(String.self, forKey: .sort) == "dog")
        }
        override func encode(to encoder: any Encoder) throws {
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: fields.superEncoder())
            try fields.encode(age, forKey: .age)
            try fields.encode("dog", forKey: .sort)
        }
    }
    final class Cat: Animal {
        var lives = 9
        private enum CodingKeys: CodingKey { case lives }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            try super.init(from: decoder)
            lives = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .lives)
        }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encode(lives, forKey: .lives)
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `class hierarchies survive a round trip, with or without a nested map`(coder: BinaryCoder)
        throws
    {
        let (dog, cat) = (Dog(), Cat())
        (dog.name, dog.age, cat.name, cat.lives) = ("Bello", 12, "Tom", 7)
        #expect(try coder.value(coder.encode([dog])) == [["super": ["name": "Bello"], "age": 12, "sort": "dog"]])
        #expect(try coder.value(coder.encode(cat)) == ["name": "Tom", "lives": 7])
        let dogs = try coder.decode([Dog].self, coder.encode([dog, dog]))
        #expect(dogs.map(\.name) == ["Bello", "Bello"] && dogs.map(\.age) == [12, 12])
        let back = try coder.roundTrip(cat)
        #expect(back.name == "Tom" && back.lives == 7)
    }

    /// Encodes to three containers in turn and decodes them in another order.
    struct Woven: Codable, Equatable {
        var a = 1, b = 2, c = [3, 4, 5], d = "d"
        enum CodingKeys: CodingKey { case a, left, list, d }
        enum Left: CodingKey { case b, deeper }
        init() {}
        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            var list = try fields.nestedUnkeyedContainer(forKey: .list)
            c = [try list.decode(Int.self)]
            d = try fields.decode(String.self, forKey: .d)
            let left = try fields.nestedContainer(keyedBy: Left.self, forKey: .left)
            c.append(try list.decode(Int.self))
            b = try left.decode(Int.self, forKey: .b)
            a = try fields.decode(Int.self, forKey: .a)
            let inner = try list.nestedContainer(keyedBy: Left.self)
            c.append(try inner.decode(Int.self, forKey: .deeper))
            #expect(list.isAtEnd && list.currentIndex == 3)
        }
        func encode(to encoder: any Encoder) throws {
            var fields = encoder.container(keyedBy: CodingKeys.self)
            var left = fields.nestedContainer(keyedBy: Left.self, forKey: .left)
            var list = fields.nestedUnkeyedContainer(forKey: .list)
            try list.encode(c[0])
            try fields.encode(a, forKey: .a)
            try left.encode(b, forKey: .b)
            try list.encode(c[1])
            var inner = list.nestedContainer(keyedBy: Left.self)
            try fields.encode(d, forKey: .d)
            try inner.encode(c[2], forKey: .deeper)
            #expect(list.count == 3)
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `nested containers may be encoded and decoded in turn`(coder: BinaryCoder) throws {
        let expected: Value = ["left": ["b": 2], "list": [3, 4, ["deeper": 5]], "a": 1, "d": "d"]
        #expect(try coder.value(coder.encode(Woven())) == expected)
        // The head of the list has three bytes and shifts the bytes that were written before.
        let many = Array(repeating: Woven(), count: 300)
        #expect(try coder.roundTrip(many) == many)
        #expect(try coder.roundTrip(["x": many]) == ["x": many])
    }

    @Test(arguments: BinaryCoder.allCases) func `a nested container may come first in a long array`(coder: BinaryCoder) throws {
        struct Rows: Encodable {
            func encode(to encoder: any Encoder) throws {
                var rows = encoder.unkeyedContainer()
                for number in 0..<300 {
                    var row = rows.nestedUnkeyedContainer()
                    try row.encode(number)
                }
            }
        }
        #expect(try coder.decode([[Int]].self, coder.encode(Rows())) == (0..<300).map { [$0] })
    }

    @Test(arguments: BinaryCoder.allCases) func `an unused super encoder leaves an empty map`(coder: BinaryCoder) throws {
        struct Reserved: Encodable {
            func encode(to encoder: any Encoder) throws {
                var fields = encoder.container(keyedBy: Woven.CodingKeys.self)
                _ = fields.superEncoder(forKey: .a)
                try fields.encode("d", forKey: .d)
            }
        }
        #expect(try coder.value(coder.encode([Reserved()])) == [["a": [:], "d": "d"]])
    }

    @Test(arguments: BinaryCoder.allCases) func `an array may be decoded by element and as a whole in turn`(coder: BinaryCoder) throws {
        struct Both: Decodable {
            var items: [Int], all: [Int]
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                items = [try list.decode(Int.self)]
                all = try decoder.singleValueContainer().decode([Int].self)
                while !list.isAtEnd {
                    items.append(try list.decode(Int.self))
                    _ = try decoder.singleValueContainer().decode([Int].self)
                }
                // Decoding the whole array must not move the position of this container.
                var again = try decoder.unkeyedContainer()
                for item in items {
                    #expect(try again.decode(Int.self) == item)
                    _ = try decoder.singleValueContainer().decode([Int].self)
                }
            }
        }
        let both = try coder.decode([Both].self, value: [[1, 2, 3], [4]])
        #expect(both.map(\.items) == [[1, 2, 3], [4]] && both.map(\.all) == [[1, 2, 3], [4]])
    }

    struct Fields: Codable, Equatable { var a: Int, b: String?, c: [Int], d: Double? }

    @Test(arguments: BinaryCoder.allCases) func `keys are found in any order, and unknown ones are skipped`(coder: BinaryCoder) throws {
        let fields = Fields(a: 1, b: "b", c: [2], d: nil)
        let orders: [Value] = [
            ["a": 1, "b": "b", "c": [2]], ["c": [2], "b": "b", "a": 1],
            ["x": [1, [2]], "a": 1, "y": ["a": 9], "b": "b", 7: 7, "c": [2], "z": nil],
            ["d": nil, "b": "b", "c": [2], "a": 1], ["b": "b", "bb": 1, "c": [2], "": 0, "a": 1, nil: 1, [1]: 2],
        ]
        for order in orders { #expect(try coder.decode(Fields.self, value: order) == fields) }
        #expect(try coder.decode([Fields].self, value: .array(orders)) == Array(repeating: fields, count: orders.count))
        #expect(try coder.decode([String: Fields].self, value: ["k": orders[1], "l": orders[2]]) == ["k": fields, "l": fields])
    }

    @Test(arguments: BinaryCoder.allCases) func `null and a missing key are the same for an optional`(coder: BinaryCoder) throws {
        #expect(try coder.decode(Fields.self, value: ["a": 1, "b": nil, "c": []]).b == nil)
        #expect(try coder.decode(Fields.self, value: ["a": 1, "c": []]).b == nil)
        #expect(try coder.decode([Int?].self, value: [1, nil, 2]) == [1, nil, 2])
    }

    /// Tries one shape after the other, like hand-written types.
    enum Either: Codable, Equatable {
        case number(Int), list([Int]), map([String: Int]), text(String)
        init(from decoder: any Decoder) throws {
            let single = try decoder.singleValueContainer()
            if let number = try? single.decode(Int.self) {
                self = .number(number)
            } else if let list = try? single.decode([Int].self) {
                self = .list(list)
            } else if let map = try? single.decode([String: Int].self) {
                self = .map(map)
            } else {
                self = .text(try single.decode(String.self))
            }
        }
        func encode(to encoder: any Encoder) throws {
            var single = encoder.singleValueContainer()
            switch self {
            case .number(let number): try single.encode(number)
            case .list(let list): try single.encode(list)
            case .map(let map): try single.encode(map)
            case .text(let text): try single.encode(text)
            }
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `a failed attempt leaves the decoder at its position`(coder: BinaryCoder) throws {
        let all: [Either] = [.number(1), .list([1, 2]), .map(["a": 1]), .text("x"), .list([]), .number(-1)]
        #expect(try coder.roundTrip(all) == all)
        #expect(try coder.roundTrip(["k": all]) == ["k": all])
        // The list fails at its second element, and then the text fails, too.
        #expect(throws: DecodingError.self) { try coder.decode([Either].self, value: [[1, "x"]]) }
    }

    /// Decodes its type, then itself as that type, with the same decoder.
    struct Typed: Decodable, Equatable {
        var type: String, fields: Fields
        enum CodingKeys: CodingKey { case type, a }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            type = try container.decode(String.self, forKey: .type)
            fields = try decoder.singleValueContainer().decode(Fields.self)
            #expect(try container.decode(Int.self, forKey: .a) == fields.a)
            #expect(container.contains(.type) && container.allKeys.count == 2)
        }
    }

    @Test(arguments: BinaryCoder.allCases) func `one decoder may be used for several containers`(coder: BinaryCoder) throws {
        let typed = try coder.decode([Typed].self, value: [["a": 5, "type": "t", "c": [1]], ["type": "u", "c": [], "a": 6, "d": 1.5]])
        #expect(typed.map(\.type) == ["t", "u"] && typed.map(\.fields.a) == [5, 6] && typed[1].fields.d == 1.5)
    }

    @Test(arguments: BinaryCoder.allCases) func `a decoder cannot be used after its decoding has ended`(coder: BinaryCoder) throws {
        final class Keeper: Decodable {
            let decoder: any Decoder
            let fields: KeyedDecodingContainer<CodecStepKey>
            let inner: any Decoder
            init(from decoder: any Decoder) throws {
                self.decoder = decoder
                fields = try decoder.container(keyedBy: CodecStepKey.self)
                inner = try fields.superDecoder(forKey: .a)
                // Enough of them, so that unused ones are released.
                for _ in 0..<100 { _ = try fields.superDecoder(forKey: .a) }
            }
        }
        // The bytes still exist, so only the rule prevents decoding.
        let bytes = try coder.encode(["a": [1, 2]])
        defer { #expect(!bytes.isEmpty) }
        let keeper = try coder.decode(Keeper.self, bytes)
        #expect(throws: DecodingError.self) { try keeper.decoder.container(keyedBy: CodecStepKey.self) }
        #expect(throws: DecodingError.self) { try keeper.fields.decode([Int].self, forKey: .a) }
        #expect(throws: DecodingError.self) { try [Int](from: keeper.inner) }
        #expect(keeper.fields.allKeys.isEmpty && !keeper.fields.contains(.a))
    }
}

enum CodecStepKey: String, CodingKey { case a }
