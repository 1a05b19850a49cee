import Foundation
import Holdfast
import HoldfastTesting
import Testing
import WebSocketCore

/// Typed streams of messages.
@Suite(.timeLimit(.minutes(1))) struct TypedStreamTests {
    struct Tick: Codable, Hashable, Sendable {
        var price: Double
    }

    @Test func `a stream decodes text and binary messages, over all connections`() async throws {
        let stage = Stage()
        var ticks = stage.socket.stream(of: Tick.self).makeAsyncIterator()
        let first = try await stage.accept()
        try await first.send(.text(#"{"price":1.5}"#))
        #expect(try await ticks.next() == Tick(price: 1.5))
        try await first.send(.binary(Array(#"{"price":2, "currency":"EUR"}"#.utf8)))
        #expect(try await ticks.next() == Tick(price: 2))
        first.cut()
        await stage.pause()
        let second = try await stage.accept()
        try await second.send(.text(#"{"price":3}"#))
        #expect(try await ticks.next() == Tick(price: 3))
        _ = await second.close(CloseFrame(.normal))
        #expect(try await ticks.next() == nil)
    }

    @Test func `a value is sent as JSON text`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        try await stage.socket.send(value: Tick(price: 4.5))
        #expect(try await peer.receive() == .message(.text(#"{"price":4.5}"#)))
    }

    @Test func `a custom codec encodes and decodes the messages`() async throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .custom { _ in TypedStreamKey(stringValue: "p") }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { _ in TypedStreamKey(stringValue: "price") }
        let stage = Stage { $0.codec = JSONCodec(.binary, encoder: encoder, decoder: decoder) }
        var ticks = stage.socket.stream(of: Tick.self).makeAsyncIterator()
        let peer = try await stage.accept()
        try await stage.socket.send(value: Tick(price: 1))
        #expect(try await peer.receive() == .message(.binary(Array(#"{"p":1}"#.utf8))))
        try await peer.send(.text(#"{"p":2}"#))
        #expect(try await ticks.next() == Tick(price: 2))
    }

    @Test func `a value that cannot be encoded is not sent`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let code = await code { () async throws(WebSocketError) in try await stage.socket.send(value: Tick(price: .infinity)) }
        #expect(code == .codec)
        try await stage.socket.send(value: Tick(price: 1))
        #expect(try await peer.receive() == .message(.text(#"{"price":1}"#)))
    }

    @Test func `an undecodable message is an event, and the stream continues`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var events = stage.socket.events.makeAsyncIterator()
        var ticks = stage.socket.stream(of: Tick.self).makeAsyncIterator()
        for round in 1...2 {
            try await peer.send(.text("no tick \(round)"))
            try await peer.send(.text(#"{"price":\#(round)}"#))
            #expect(try await ticks.next() == Tick(price: Double(round)))
        }
        var seen: [UndecodableMessage] = []
        while seen.count < 2, let event = await events.next() {
            if case .undecodable(let undecodable) = event { seen.append(undecodable) }
        }
        #expect(seen.map(\.message) == [.text("no tick 1"), .text("no tick 2")])
        #expect(seen.allSatisfy { $0.type == "Tick" && $0.error is DecodingError })
    }

    @Test func `a waiting event consumer gets an undecodable message at once`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var events = stage.socket.events.makeAsyncIterator()
        while let event = await events.next() { if case .opened = event { break } }
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let streaming = Task {
            var ticks = stage.socket.stream(of: Tick.self).makeAsyncIterator()
            begin.finish()
            return try await ticks.next()
        }
        for await _ in begun {}
        try await peer.send(.text("no tick"))
        while let event = await events.next() { if case .undecodable = event { break } }
        try await peer.send(.text(#"{"price":1}"#))
        #expect(try await streaming.value == Tick(price: 1))
    }

    @Test func `undecodable messages without an event consumer are not kept`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        let sending = Task {
            for _ in 1...20_000 { try await peer.send(.text("no tick")) }
            try await peer.send(.text(#"{"price":1}"#))
        }
        do {
            var ticks = stage.socket.stream(of: Tick.self).makeAsyncIterator()
            #expect(try await ticks.next() == Tick(price: 1))
        }
        try await sending.value
        await stage.socket.close()
        var undecodable = 0
        for await event in stage.socket.events { if case .undecodable = event { undecodable += 1 } }
        #expect(undecodable == 0)
    }

    @Test func `a typed stream throws the final error`() async throws {
        let stage = Stage()
        var ticks = stage.socket.stream(of: Tick.self).makeAsyncIterator()
        try await stage.refuse(.refused(404))
        let error = await #expect(throws: WebSocketError.self) { _ = try await ticks.next() }
        #expect(error?.httpStatus == 404)
    }
}

private struct TypedStreamKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
