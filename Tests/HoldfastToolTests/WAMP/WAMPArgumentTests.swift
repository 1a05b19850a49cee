import ArgumentParser
import CodecCore
import Testing
import WAMPCore

@testable import HoldfastTool

@Suite struct WAMPArgumentTests {
    private static let values: [(String, Value)] = [
        ("7", 7), ("-7.5", -7.5), ("true", true), ("null", .null), ("[1,\"a\"]", .array([1, "a"])), ("{\"a\":1}", .map(["a": 1])),
        ("\"7\"", "7"), ("hello", "hello"), ("", ""), ("[1,", "[1,"), ("7 8", "7 8"), ("{a:1}", "{a:1}"),
    ]

    @Test(arguments: values)
    func `an argument is JSON, or the text that it is`(text: String, value: Value) {
        #expect(JSONArgument(argument: text).value == value)
    }

    @Test func `bytes are a text of Base64 behind a character of code 0, both ways`() {
        #expect(JSONArgument(argument: #"["\u0000EBESEw=="]"#).value == [.bytes([0x10, 0x11, 0x12, 0x13])])
        #expect(Value.array([.bytes([0x10, 0x11, 0x12, 0x13])]).jsonLine == #"["\u0000EBESEw=="]"#)
        #expect(JSONArgument(argument: #""\u0000no Base64""#).value == "\0no Base64")
    }

    @Test func `a keyword has a name and a value`() {
        #expect(KeywordArgument(argument: "a=1").map { [$0.name: $0.value] } == ["a": 1])
        #expect(KeywordArgument(argument: "a=b=c").map { [$0.name: $0.value] } == ["a": "b=c"])
        #expect(KeywordArgument(argument: "a=").map { [$0.name: $0.value] } == ["a": ""])
        #expect(KeywordArgument(argument: "a") == nil && KeywordArgument(argument: "=1") == nil)
    }

    @Test func `what a call carries keeps its order, and no name stands twice`() throws {
        let options = try WAMPPayloadOptions.parse(["1", "two", "--keyword", "b=2", "--keyword", "a=1"])
        #expect(options.list == [1, "two"])
        #expect(options.keywords.entries.map(\.key) == ["b", "a"])
        #expect(throws: (any Error).self) { try WAMPPayloadOptions.parse(["--keyword", "a=2", "--keyword", "a=1"]) }
    }

    @Test func `numbers below zero stand behind two dashes`() throws {
        #expect(try WAMPPayloadOptions.parse(["--", "-1", "--x"]).list == [-1, "--x"])
    }

    @Test(arguments: ["com.app.add", "a", "com.äpp", "wamp.session.count"]) func `a URI is taken`(uri: String) {
        #expect(throws: Never.self) { try URIArgument.check(uri) }
    }

    @Test(arguments: ["", "com..app", ".com", "com.", "com app", "com#app"]) func `what is no URI says so`(uri: String) {
        #expect(throws: (any Error).self) { try URIArgument.check(uri) }
    }

    @Test func `a pattern may have empty components`() {
        #expect(throws: Never.self) { try URIArgument.check("com..created", match: .wildcard) }
        #expect(throws: Never.self) { try URIArgument.check("com.", match: .prefix) }
        #expect(throws: (any Error).self) { try URIArgument.check("com. ", match: .prefix) }
    }
}
