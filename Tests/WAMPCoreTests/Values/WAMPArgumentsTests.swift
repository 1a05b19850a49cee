import CodecCore
import Testing
import WAMPCore

@Suite struct WAMPArgumentsTests {
    private func arguments(_ json: String) throws -> WAMPArguments {
        guard case .yield(_, _, let arguments) = try wampMessage(json: "[70,1,{},\(json)]") else { throw WAMPFormatError(.noMessage) }
        return arguments
    }

    @Test func `arguments are equal if their values are, in any serialization`() throws {
        let values = WAMPArguments([1, "two"], keywords: ["three": [3]])
        let json = try arguments(#"[1, "two"], {"three": [3]}"#)
        #expect(json.rawSerialization == .json)
        #expect(json == values)
        #expect(json.hashValue == values.hashValue)
        for serialization in WAMPSerialization.allCases {
            let message = try wampMessage(WAMPMessage.yield(request: 1, options: [:], values).encoded(as: serialization), serialization)
            guard case .yield(_, _, let raw) = message else { continue }
            #expect(raw == values && raw == json && raw.hashValue == json.hashValue)
            #expect(raw.counts == (2, 1))
        }
        #expect(try json != arguments(#"[1, "two"]"#))
        #expect(try json != arguments(#"[1, "too"], {"three": [3]}"#))
    }

    @Test func `encoded bytes are forwarded unchanged`() throws {
        let text = #"[70,1,{},[ 1.50e0 , "\u0041" ] , { "b" : 1 , "b" : 2 }]"#
        #expect(try wampMessage(json: text).encoded(as: .json) == Array(text.utf8))
        let packed = wampBytes("94 46 01 80 91 cd 0001")
        #expect(try wampMessage(packed, .messagePack).encoded(as: .messagePack) == packed)
    }

    @Test func `empty arguments are omitted`() throws {
        func json(_ arguments: WAMPArguments) throws -> String {
            String(decoding: try WAMPMessage.yield(request: 1, options: [:], arguments).encoded(as: .json), as: UTF8.self)
        }
        #expect(try json(.none) == "[70,1,{}]")
        #expect(try json(WAMPArguments([1])) == "[70,1,{},[1]]")
        #expect(try json(WAMPArguments(keywords: ["a": 1])) == #"[70,1,{},[],{"a":1}]"#)
        #expect(try json(arguments("[], {}")) == "[70,1,{}]")
        #expect(try json(arguments(#"{},{"a":1}"#)) == #"[70,1,{},[],{"a":1}]"#)
        #expect(try json(arguments(#"[1],{}"#)) == "[70,1,{},[1]]")
        #expect(try arguments("[ ], { }").isEmpty)
        #expect(try arguments("[]").rawSerialization == nil)
    }

    @Test func `binary values become strings in JSON and are restored when decoded`() throws {
        let values = WAMPArguments([.bytes([0, 255]), .bytes([])], keywords: ["a": [.bytes([7])]])
        let json = try WAMPMessage.yield(request: 1, options: ["b": .bytes([1])], values).encoded(as: .json)
        #expect(String(decoding: json, as: UTF8.self) == #"[70,1,{"b":"\u0000AQ=="},["\u0000AP8=","\u0000"],{"a":["\u0000Bw=="]}]"#)
        #expect(try wampMessage(json, .json) == .yield(request: 1, options: ["b": .bytes([1])], values))
        #expect(try arguments(#"["\u0000not Base64"]"#).list == ["\u{0}not Base64"])
    }

    @Test func `a value that a serialization cannot represent becomes the nearest one`() throws {
        let time = Timestamp(seconds: 1_700_000_000)
        let values: [Value] = [
            .timestamp(time), .extension(type: 5, [1]), .tagged(7, "x"), .float(.infinity), .float(.nan), .map([1: 2, [true]: 3]),
            .unsigned(.max),
        ]
        let message = WAMPMessage.yield(request: 1, options: [:], WAMPArguments(values))
        func list(as serialization: WAMPSerialization) throws -> [Value] {
            guard case .yield(_, _, let read) = try wampMessage(try message.encoded(as: serialization), serialization) else { return [] }
            return try read.list
        }
        #expect(
            try list(as: .json) == [
                .text(time.description), .bytes([1]), "x", nil, nil, ["1": 2, "[true]": 3], .unsigned(.max),
            ])
        let packed = try list(as: .messagePack)
        #expect(packed[..<4] == [.timestamp(time), .extension(type: 5, [1]), "x", .float(.infinity)])
        let cbor = try list(as: .cbor)
        #expect(cbor[..<4] == [.timestamp(time), .bytes([1]), .tagged(7, "x"), .float(.infinity)])
        #expect(cbor[5...] == [.map([1: 2, [true]: 3]), .unsigned(.max)])
    }

    @Test(arguments: WAMPSerialization.allCases) func `encoded arguments are decoded in place`(serialization: WAMPSerialization) throws {
        let values = WAMPArguments([1, "two", [3]], keywords: ["four": 4])
        let bytes = try WAMPMessage.yield(request: 1, options: [:], values).encoded(as: serialization)
        guard case .yield(_, _, let raw) = try wampMessage(bytes, serialization) else { return }
        func value(_ bytes: RawSpan, _ serialization: WAMPSerialization) throws -> Value {
            switch serialization {
            case .json: try Value(json: bytes)
            case .messagePack: try Value(decoding: bytes, as: .messagePack)
            case .cbor: try Value(decoding: bytes, as: .cbor)
            }
        }
        #expect(try raw.withRawList(value) == [1, "two", [3]])
        #expect(try raw.withRawKeywords(value) == ["four": 4])
        #expect(try raw.withRawValue(at: [0], value) == 1)
        #expect(try raw.withRawValue(at: [2], value) == [3])
        #expect(try raw.withRawValue(at: [2, 0], value) == 3)
        #expect(try raw.withRawValue(at: [3], value) == Value?.none)
        #expect(try raw.withRawValue(at: [-1], value) == Value?.none)
        #expect(try values.withRawList(value) == Value?.none)
        let again = try WAMPArguments(
            list: try #require(raw.withRawList { bytes, _ in bytes.withUnsafeBytes { Array($0) } }),
            keywords: try #require(raw.withRawKeywords { bytes, _ in bytes.withUnsafeBytes { Array($0) } }), as: serialization)
        #expect(again == values && again.rawSerialization == serialization)
        #expect(try WAMPArguments(list: [], as: serialization) == .none)
        #expect(throws: CodecError.self) { try WAMPArguments(list: [0xFF, 0x00], as: serialization) }
    }

    @Test(arguments: WAMPSerialization.allCases) func `a value is found by its path without decoding the others`(
        serialization: WAMPSerialization
    ) throws {
        let list: [Value] = [[50, "x", ["y": 1], [.bytes([7])]], nil]
        let paths: [[Int]] = [[], [0], [0, 0], [0, 2], [0, 3, 0], [1]]
        let found: [Value] = [.array(list), list[0], 50, ["y": 1], .bytes([7]), nil]
        let wrong = [[2], [-1], [1, 0], [0, 4], [0, 0, 0], [0, 2, 0], [0, -1]]
        let bytes = try WAMPMessage.yield(request: 1, options: [:], WAMPArguments(list)).encoded(as: serialization)
        guard case .yield(_, _, let raw) = try wampMessage(bytes, serialization) else { return }
        for arguments in [raw, WAMPArguments(list)] {
            #expect(try paths.map { try arguments.value(at: $0) } == found)
            #expect(try wrong.allSatisfy { try arguments.value(at: $0) == Value?.none })
        }
        #expect(wrong.allSatisfy { raw.withRawValue(at: $0) { _, _ in true } == nil })
    }

    @Test func `a value is found in lists of indefinite length`() throws {
        let cbor: [UInt8] = [0x9F, 0x9F, 0x18, 0x32, 0xBF, 0x61, 0x79, 0x01, 0xFF, 0x9F, 0x05, 0xFF, 0xFF, 0xFF]
        let raw = try WAMPArguments(list: cbor, as: .cbor)
        #expect(try raw.value(at: [0, 0]) == 50)
        #expect(try raw.value(at: [0, 2, 0]) == 5)
        #expect(try raw.value(at: [0, 1, 0]) == Value?.none)
        #expect(try raw.value(at: [0, 3]) == Value?.none)
        let json = try WAMPArguments(list: Array(#" [ [ 50 , {"y":1} , [ 5 ] ] ] "#.utf8), as: .json)
        #expect(try json.value(at: [0, 0]) == 50)
        #expect(try json.value(at: [0, 2, 0]) == 5)
        #expect(try json.value(at: [0, 1, 0]) == Value?.none)
    }

    @Test func `arguments must be a list and a dictionary`() {
        #expect(throws: CodecError.self) { try WAMPArguments(list: Array("1".utf8), as: .json) }
        #expect(throws: CodecError.self) { try WAMPArguments(list: Array("[1".utf8), as: .json) }
        #expect(throws: CodecError.self) { try WAMPArguments(list: Array("[1],{}".utf8), keywords: Array("{}".utf8), as: .json) }
        #expect(throws: CodecError.self) { try WAMPArguments(list: [0x81, 0x01, 0x01], as: .cbor) }
        #expect(throws: CodecError.self) { try WAMPArguments(list: [0x80], keywords: [0x80, 0x01], as: .cbor) }
    }
}
