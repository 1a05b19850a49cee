import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// The kinds of arguments that `send` accepts.
@Suite(.timeLimit(.minutes(1))) struct SessionOverloadTests {
    private struct Order: Codable, Sendable, Equatable { var number: Int }

    @Test func `text is sent unchanged as a text message`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let (socket, name) = (stage.socket, "Ann")
        try await socket.send("literal")
        try await socket.send(name)
        try await socket.send(name.dropFirst())
        try await socket.send("hello, \(name)", lane: .urgent)
        try await socket.send("a" + name, timeout: .seconds(1))
        try await socket.send("")
        try? await socket.send("no warning")
        #expect(try await peer.texts(7) == ["literal", "Ann", "nn", "hello, Ann", "aAnn", "", "no warning"])
    }

    @Test func `bytes are sent unchanged as a binary message`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        let (socket, bytes) = (stage.socket, [UInt8]([7, 8]))
        try await socket.send(Data([1, 2, 3]))
        try await socket.send([1, 2, 3])
        try await socket.send(bytes)
        try await socket.send([])
        try await socket.send(.binary(Data([4])))
        try await socket.send(.binary([5]))
        for expected: [UInt8] in [[1, 2, 3], [1, 2, 3], [7, 8], [], [4], [5]] { #expect(try await peer.message() == .binary(expected)) }
    }

    @Test func `values are encoded by the codec, and JSON literals are sent as JSON text`() async throws {
        let stage = Stage { $0.codec = JSONCodec(.binary) }
        let peer = try await stage.connect()
        let socket = stage.socket
        try await socket.send(value: Order(number: 1))
        try await socket.send(value: "hello")
        try await socket.send(value: ["a": 1])
        try await socket.send(json: ["type": "hello", "n": 1])
        try await socket.send(json: ["type": "hello", "tags": ["a", nil, true, 1.5]])
        for expected in [#"{"number":1}"#, #""hello""#, #"{"a":1}"#] { #expect(try await peer.message() == .binary(Array(expected.utf8))) }
        #expect(
            try await peer.texts(2) == [#"{"type":"hello","n":1}"#, #"{"type":"hello","tags":["a",null,true,1.5]}"#])
    }

    @Test func `a request and its answer may be text and are not encoded`() async throws {
        let stage = Stage()
        let peer = try await stage.connect()
        async let first = stage.socket.request("hello", matching: { $0 == .text("welcome") ? $0 : nil })
        #expect(try await peer.texts(1) == ["hello"])
        try await peer.send(.text("welcome"))
        #expect(try await first == .text("welcome"))
        async let second: String = stage.socket.request { id in #"{"id":\#(id),"get":"name"}"# }
        let text = try #require(try await peer.texts(1).first)
        #expect(text.hasPrefix(#"{"id":"#) && text.hasSuffix(#","get":"name"}"#))
        try await peer.send(.text(text))
        #expect(try await second == text)
        async let third = stage.socket.request(value: Order(number: 3), matching: { $0 })
        #expect(try await peer.texts(1) == [#"{"number":3}"#])
        try await peer.send(.text("ok"))
        #expect(try await third == .text("ok"))
    }

    @Test func `streams of text and of bytes deliver the payloads unchanged`() async throws {
        let stage = Stage()
        var texts = stage.socket.stream(of: String.self).makeAsyncIterator()
        var data = stage.socket.stream(of: Data.self).makeAsyncIterator()
        var bytes = stage.socket.stream(of: [UInt8].self).makeAsyncIterator()
        let peer = try await stage.accept()
        try await peer.send(.text("héllo"))
        #expect(try await texts.next() == "héllo")
        try await peer.send(.binary([0xFF]))
        try await peer.send(.binary([0x41]))
        #expect(try await texts.next() == "A", "a payload that is not UTF-8 is skipped")
        for expected in [Data("héllo".utf8), Data([0xFF]), Data([0x41])] { #expect(try await data.next() == expected) }
        for expected in [Array("héllo".utf8), [0xFF], [0x41]] { #expect(try await bytes.next() == expected) }
    }

    @Test func `a single connection also accepts text and bytes`() async throws {
        let server = MemoryServer()
        async let opening = server.connect(WebSocketAttempt())
        let peer = try #require(await server.nextAttempt()).accept()
        let connection = try await opening
        #expect(connection.isConnected)
        try await connection.send("text")
        try await connection.send("text".prefix(2))
        try await connection.send(Data([1]))
        try await connection.send([2, 3])
        for expected: Message in [.text("text"), .text("te"), .binary([1]), .binary([2, 3])] {
            #expect(try await peer.message() == expected)
        }
        await connection.close()
        #expect(!connection.isConnected)
    }
}
