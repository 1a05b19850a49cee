import CodecCore
import Testing
import WAMPCore
import WebSocketCore

@Suite struct WAMPDecodingTests {
    @Test(arguments: [
        (#"{"a":1}"#, WAMPFormatError.Reason.noMessage, "not a list that starts with a message type"),
        (#"[]"#, .noMessage, "not a list that starts with a message type"),
        (#"["HELLO"]"#, .noMessage, "not a list that starts with a message type"),
        (#"[-1]"#, .noMessage, "not a list that starts with a message type"),
        (#"[7]"#, .unknownType(7), "unknown message type 7"),
        (#"[1]"#, .field("realm"), #"HELLO: "realm" is missing or not a text"#),
        (#"[32,1,{}]"#, .field("topic"), #"SUBSCRIBE: "topic" is missing or not a text"#),
        (#"[32,1,{},7]"#, .field("topic"), #"SUBSCRIBE: "topic" is missing or not a text"#),
        (#"[32,1,"x","a"]"#, .field("options"), #"SUBSCRIBE: "options" is missing or not a dictionary"#),
        (#"[32,"1",{},"a"]"#, .field("request"), #"SUBSCRIBE: "request" is missing or not an id"#),
        (#"[32,1.0,{},"a"]"#, .field("request"), #"SUBSCRIBE: "request" is missing or not an id"#),
        (#"[32,-1,{},"a"]"#, .field("request"), #"SUBSCRIBE: "request" is missing or not an id"#),
        (#"[32,9007199254740993,{},"a"]"#, .field("request"), #"SUBSCRIBE: "request" is missing or not an id"#),
        (#"[33,1,0]"#, .field("subscription"), #"SUBSCRIBED: "subscription" is missing or not an id"#),
        (#"[2,0,{}]"#, .field("session"), #"WELCOME: "session" is missing or not an id"#),
        (#"[8,47,1,{},"a"]"#, .field("request type"), #"ERROR: "request type" is missing or not a request type"#),
        (#"[48,1,{},"a",7]"#, .field("arguments"), #"CALL: "arguments" is missing or not a list"#),
        (#"[48,1,{},"a",{"b":1}]"#, .field("arguments"), #"CALL: "arguments" is missing or not a list"#),
        (#"[48,1,{},"a",[],[1]]"#, .field("keywords"), #"CALL: "keywords" is missing or not a dictionary"#),
        (#"[48,1,{},"a",[],{},1]"#, .tooManyFields, "CALL: too many fields"),
        (#"[17,1,2,3]"#, .tooManyFields, "PUBLISHED: too many fields"),
        (#"[17,1,2"#, .undecodable(CodecError(.truncated, at: 7)), "PUBLISHED: the bytes end before the value does, at byte 7"),
        (#"[17,1,2] x"#, .undecodable(CodecError(.trailingBytes, at: 9)), "PUBLISHED: bytes follow the value, at byte 9"),
        (#"[48,1,{},"a",[01]]"#, .undecodable(CodecError(.malformed, at: 14)), "CALL: a byte that may not stand here, at byte 14"),
    ])
    func `an invalid message is refused with a description`(json: String, reason: WAMPFormatError.Reason, words: String) {
        #expect {
            try wampMessage(json: json)
        } throws: { error in
            (error as? WAMPFormatError)?.reason == reason && "\(error)" == words
        }
    }

    @Test(arguments: WAMPSerialization.allCases) func `a message is accepted only as the message kind of its serialization`(
        serialization: WAMPSerialization
    ) throws {
        let message = WAMPMessage.published(request: 1, publication: 2)
        let written = try message.written(as: serialization)
        #expect(written.kind == serialization.messageKind)
        for kind in [MessageKind.text, .binary] {
            let read = written.withBytes { bytes in
                Result { () throws(WAMPFormatError) in
                    try WAMPMessage(decoding: bytes.bytes, of: kind, as: serialization, limits: .standard)
                }
            }
            #expect(read == (kind == written.kind ? .success(message) : .failure(WAMPFormatError(.messageKind))))
        }
    }

    /// Alternating combining marks of two classes, which Swift has to sort before it can compare them.
    private static func marks(_ count: Int) -> String { String(repeating: "\u{315}\u{300}", count: count / 2) }

    @Test func `texts that are slow to compare are refused where they are compared, and allowed in arguments`() throws {
        let (short, long, plain) = (Self.marks(500), Self.marks(520), String(repeating: "a", count: 5000))
        for text in [short, plain] {
            _ = try wampMessage(json: #"[48,1,{"key":"\#(text)","\#(text)":[1]},"\#(text)"]"#)
        }
        for json in [
            #"[48,1,{},"\#(long)"]"#, #"[48,1,{"\#(long)":1},"a"]"#, #"[1,"a",{"authid":"\#(long)"}]"#,
            #"[16,1,{"exclude_authid":["a","\#(long)"]},"a"]"#, #"[1,"a",{"roles":{"caller":{"\#(long)":1}}}]"#,
        ] {
            #expect(throws: WAMPFormatError.self) { try wampMessage(json: json) }
        }
        _ = try wampMessage(json: #"[16,1,{},"a",["\#(long)"],{"\#(long)":1}]"#)
    }

    @Test func `an id is 1 to 2^53, and only a request id may be 0`() throws {
        #expect(try wampMessage(json: "[33,9007199254740992,9007199254740992]") == .subscribed(request: 1 << 53, subscription: 1 << 53))
        #expect(try wampMessage(json: "[33,0,1]") == .subscribed(request: 0, subscription: 1))
    }

    @Test(arguments: [
        ("[50,7]", WAMPMessage.result(request: 7, details: [:], .none)),
        ("[50,7,null,null,null]", .result(request: 7, details: [:], .none)),
        ("[50,7,[],{},[]]", .result(request: 7, details: [:], .none)),
        (#"[50,7,{},{},{"a":1}]"#, .result(request: 7, details: [:], WAMPArguments(keywords: ["a": 1]))),
        ("[50,7,{},[1],[]]", .result(request: 7, details: [:], WAMPArguments([1]))), ("[49,7]", .cancel(request: 7, options: [:])),
        (#"[1,"a"]"#, .hello(realm: "a", details: [:])), ("[67,5]", .unregistered(request: 5, details: [:])),
        (" \n[ 50 , 7 , { } , [ 1 ] , { } ]\t", .result(request: 7, details: [:], WAMPArguments([1]))),
        (#"[50,7,{"of another":[{}]}]"#, .result(request: 7, details: ["of another": [.map([:])]], .none)),
    ])
    func `common deviations of other peers are accepted`(json: String, message: WAMPMessage) throws {
        let taken = try wampMessage(json: json)
        #expect(taken == message)
        for serialization in WAMPSerialization.allCases {
            #expect(try wampMessage(taken.encoded(as: serialization), serialization) == message)
        }
    }

    @Test(arguments: [
        "9f 18 32 1b 0000000000000007 bf ff 9f 01 7f 61 61 61 62 ff ff bf 61 63 5f 41 01 ff ff ff",
        "98 05 19 0032 1a 00000007 b9 0000 9b 0000000000000002 18 01 78 02 6162 b8 01 78 01 63 58 01 01",
    ])
    func `CBOR may have long and indefinite lengths`(hexadecimal: String) throws {
        let message = try wampMessage(wampBytes(hexadecimal), .cbor)
        #expect(message == .result(request: 7, details: [:], WAMPArguments([1, "ab"], keywords: ["c": .bytes([1])])))
    }

    @Test func `MessagePack may have long lengths`() throws {
        let bytes = wampBytes("dd 00000004 cd 0032 d3 0000000000000007 df 00000000 dc 0001 d1 0001")
        #expect(try wampMessage(bytes, .messagePack) == .result(request: 7, details: [:], WAMPArguments([1])))
    }

    @Test(arguments: [
        "[\"\u{1}\"]", #"["\x"]"#, #"["\ud800"]"#, #"["\u12"]"#, "[1,]", "[tru]", "[1e999]", "[01]", "[],{1:2}", "[],{\"a\":1,}", "[1 2]",
    ])
    func `a payload that is invalid JSON is not forwarded`(payload: String) {
        #expect(isUndecodable(Array("[50,7,{},\(payload)]".utf8), .json))
    }

    @Test(arguments: [
        "94 32 07 80 91 a2 c3 28", "94 32 07 80 91 c1", "94 32 07 80 dd ffffffff", "94 32 07 80 91 a4 f4908080", "94 32 07 80 91 a3 eda080",
        "94 32 07 80 91 a2 c080",
    ])
    func `a payload that is invalid MessagePack is not forwarded`(message: String) {
        #expect(isUndecodable(wampBytes(message), .messagePack))
    }

    @Test(arguments: [
        "84 18 32 07 a0 81 62 c3 28", "84 18 32 07 a0 81 ff", "84 18 32 07 a0 81 1c", "84 18 32 07 a0 9b 7fffffffffffffff",
        "84 18 32 07 a0 81 7f 41 61 ff", "84 18 32 07 a0 81 f0", "84 18 32 07 a0 81 7f 61 c3 61 a9 ff",
    ])
    func `a payload that is invalid CBOR is not forwarded`(message: String) {
        #expect(isUndecodable(wampBytes(message), .cbor))
    }

    @Test func `a JSON payload that is not UTF-8 is not forwarded`() {
        #expect(isUndecodable(Array("[50,7,{},[\"".utf8) + [0xC3, 0x28] + Array("\"]]".utf8), .json))
    }

    private func isUndecodable(_ bytes: [UInt8], _ serialization: WAMPSerialization) -> Bool {
        do throws(WAMPFormatError) { _ = try wampMessage(bytes, serialization) } catch {
            if case .undecodable = error.reason { return true }
        }
        return false
    }

    @Test(arguments: WAMPSerialization.allCases) func `depth and length are limited`(serialization: WAMPSerialization) throws {
        let nested = WAMPMessage.yield(request: 1, options: [:], WAMPArguments([[[1]]]))
        let bytes = try nested.encoded(as: serialization)
        #expect(try wampMessage(bytes, serialization, CodecLimits(maximumDepth: 4)) == nested)
        #expect(throws: WAMPFormatError.self) { try wampMessage(bytes, serialization, CodecLimits(maximumDepth: 3)) }
        #expect(throws: WAMPFormatError.self) { try wampMessage(bytes, serialization, CodecLimits(maximumDepth: 0)) }
        #expect(throws: WAMPFormatError.self) { try wampMessage(bytes, serialization, CodecLimits(maximumBytes: bytes.count - 1)) }
        let deep = WAMPMessage.yield(request: 1, options: ["a": [[[1]]]], .none)
        let limits = CodecLimits(maximumDepth: 3)
        #expect(throws: WAMPFormatError.self) { try wampMessage(try deep.encoded(as: serialization), serialization, limits) }
    }
}
