import CodecCore
import ProtocolCore
import SocketIOCore
import Testing
import WebSocketCore

@Suite struct SocketIOPacketTests {
    private func reply(_ text: String) throws -> SocketIOReply? { try SocketIOCoding().decode(.text(text)) }
    private func packet(_ text: String) throws -> SocketIOPacket {
        guard case .packet(let packet)? = try reply(text) else { throw CodecError(.malformed, at: 0) }
        return packet
    }

    /// The examples of the protocol's own document.
    @Test(arguments: [
        ("40", SocketIOPacket(.connect, namespace: "/")),
        (#"40{"token":"123"}"#, SocketIOPacket(.connect, namespace: "/", json: Array(#"{"token":"123"}"#.utf8))),
        ("40/admin,", SocketIOPacket(.connect, namespace: "/admin")),
        ("41/admin,", SocketIOPacket(.disconnect, namespace: "/admin")),
        (#"42["foo"]"#, SocketIOPacket(.event, namespace: "/", json: Array(#"["foo"]"#.utf8))),
        (#"42/admin,12["foo"]"#, SocketIOPacket(.event, namespace: "/admin", id: 12, json: Array(#"["foo"]"#.utf8))),
        (#"43/admin,13["bar"]"#, SocketIOPacket(.acknowledgement, namespace: "/admin", id: 13, json: Array(#"["bar"]"#.utf8))),
        (
            "44{\"message\":\"Not authorized\"}",
            SocketIOPacket(.connectError, namespace: "/", json: Array("{\"message\":\"Not authorized\"}".utf8))
        ),
        (
            #"451-["baz",{"_placeholder":true,"num":0}]"#,
            SocketIOPacket(.binaryEvent, namespace: "/", attachments: 1, json: Array(#"["baz",{"_placeholder":true,"num":0}]"#.utf8))
        ),
        (
            #"461-/admin,456[{"_placeholder":true,"num":0}]"#,
            SocketIOPacket(
                .binaryAcknowledgement, namespace: "/admin", id: 456, attachments: 1, json: Array(#"[{"_placeholder":true,"num":0}]"#.utf8))
        ),
    ])
    func `a packet is read and written as the protocol says`(text: String, expected: SocketIOPacket) throws {
        var read = try packet(text)
        #expect(read.text == text)
        if [.event, .binaryEvent].contains(read.kind) { #expect(["foo", "baz"].contains(read.name)) }
        read.name = ""
        #expect(read == expected)
    }

    @Test(arguments: [
        "", "9", "4", "47", "4x", "42", "42{}", "42[]", "42[7]", #"42["a""#, #"42["a"]x"#, #"42/chat["a"]"#, "43[]", "43/chat,[]", "431",
        "431{}",
        "45-[\"a\"]", "451[\"a\"]", "45x-[\"a\"]", "4299999999999999999999[\"a\"]", "4599999999999999999999-[\"a\"]", "40{", "44nope",
        "42[\"a\",\"\\x\"]", "0", "0{}", #"0{"sid":"a"}"#, #"0{"sid":"a","pingInterval":-1,"pingTimeout":1}"#,
        "42[\"a\"," + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "]",
    ])
    func `what breaks the protocol is a typed error`(text: String) {
        #expect(throws: CodecError.self) { try reply(text) }
    }

    @Test func `a handshake says when the server pings, and other types do not matter`() throws {
        let text = #"0{"sid":"s","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#
        let expected = EngineHandshake(sid: "s", pingInterval: .seconds(25), pingTimeout: .seconds(20), maximumBytes: 1_000_000)
        #expect(try reply(text) == .opened(expected))
        let endless = #"0{"sid":"s","pingInterval":1e300,"pingTimeout":1e300}"#
        let day = Duration.seconds(86_400)
        #expect(try reply(endless) == .opened(EngineHandshake(sid: "s", pingInterval: day, pingTimeout: day)))
        #expect(try reply("1") == .closed)
        #expect(try reply("2") == .ping)
        #expect(try reply("3") == .pong)
        for text in ["5", "6"] { #expect(try reply(text) == nil) }
        #expect(try SocketIOCoding().decode(.binary([1, 2])) == .attachment([1, 2]))
    }

    // MARK: - Protocol 4

    @Test func `in protocol 4 a byte string begins with its type`() throws {
        let coding = SocketIOCoding(.v4)
        #expect(coding.encode(.attachment([1, 2], of: nil)) == .binary([4, 1, 2]))
        #expect(try coding.decode(.binary([4, 1, 2])) == .attachment([1, 2]))
        #expect(try coding.decode(.binary([4])) == .attachment([]))
        for bytes in [[], [1, 2]] as [[UInt8]] { #expect(throws: CodecError.self) { try coding.decode(.binary(bytes)) } }
    }

    @Test(arguments: [
        (nil, "40/chat,"), ("{}", "40/chat,"), ("[1]", "40/chat,"), ("7", "40/chat,"),
        (#"{"token":"a b","n":1}"#, "40/chat?token=a%20b&n=1,"),
        (#"{"a":{"b":[null]},"é":true}"#, "40/chat?a=%7B%22b%22%3A%5Bnull%5D%7D&%C3%A9=true,"),
    ])
    func `in protocol 4 a payload is the query of its namespace`(payload: String?, text: String) {
        #expect(SocketIOCoding(.v4).encode(.connect("/chat", payload: payload.map { Array($0.utf8) })) == .text(text))
    }

    @Test(arguments: [
        ("\"no\"", SocketIORefusal("no")), (#"["no",{"code":7}]"#, SocketIORefusal("no", data: ["code": 7])),
        (#"["no"]"#, SocketIORefusal("no")),
        (#"{"message":"no","data":1}"#, SocketIORefusal("no", data: 1)), (#"{"message":"no"}"#, SocketIORefusal("no")),
        (#"{"code":7}"#, SocketIORefusal("the server refused the namespace", data: ["code": 7])),
        ("", SocketIORefusal("the server refused the namespace")), ("[]", SocketIORefusal("the server refused the namespace")),
    ])
    func `a refusal has a text and data, in the form of either protocol`(json: String, refusal: SocketIORefusal) {
        #expect(SocketIORefusal(json: Array(json.utf8)) == refusal)
    }

    // MARK: - Byte strings

    @Test func `byte strings leave their places, and return there`() throws {
        let values: [Value] = [
            "photo", .bytes([1]), ["a": .bytes([2, 3]), "b": [.bytes([]), 7]], .null, ["_placeholder": false], [["num": 1]],
        ]
        let arguments = try SocketIOArguments(values)
        #expect(arguments.attachments == [[1], [2, 3], []])
        #expect(arguments.size == arguments.json.count + 3)
        #expect(try arguments.values() == values)
        #expect(
            try SocketIOArguments(["a", .bytes([1])]).json == Array(#"["a",{"_placeholder":true,"num":0}]"#.utf8))
    }

    @Test(arguments: [
        #"["a",{"_placeholder":true,"num":1}]"#, #"["a",{"_placeholder":true,"num":-1}]"#, #"["a",{"_placeholder":true}]"#,
        #"["a",{"_placeholder":true,"num":"0"}]"#,
        // A short message must not stand for much memory.
        #"["a",{"_placeholder":true,"num":0},{"_placeholder":true,"num":0}]"#,
    ])
    func `a placeholder stands for one byte string, which is there`(json: String) {
        #expect(throws: CodecError.self) { try SocketIOArguments(json: Array(json.utf8), attachments: [[1]]).values() }
    }

    @Test func `values that JSON does not know are refused before they are sent`() {
        #expect(throws: CodecError.self) { try SocketIOArguments([.float(.nan)]) }
    }

    @Test func `only a volatile event without byte strings may be dropped`() throws {
        func emit(_ kind: SocketIOEmit.Kind, _ values: [Value] = ["a"]) throws -> SocketIORequest {
            .event(SocketIOEmit(.init(1), "/", try SocketIOArguments(values), kind), acknowledgement: nil)
        }
        #expect(SocketIOCoding().isEphemeral(try emit(.volatile)))
        #expect(!SocketIOCoding().isEphemeral(try emit(.plain)))
        #expect(!SocketIOCoding().isEphemeral(try emit(.volatile, ["a", .bytes([1])])))
        #expect(!SocketIOCoding().isEphemeral(.pong))
    }
}
