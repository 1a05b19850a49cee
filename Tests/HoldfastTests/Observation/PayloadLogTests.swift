import HoldfastTesting
import InMemoryLogging
import Logging
import Testing

@testable import Holdfast

/// What the log shows of messages when payload logging is on.
@Suite(.timeLimit(.minutes(1))) struct PayloadLogTests {
    private let sight = Sight()

    /// Sends a message in each direction and returns the log lines about them.
    private func exchange(
        _ sent: Message, _ received: Message, from level: Logger.Level = .debug, _ configure: (inout WebSocketOptions) -> Void
    ) async throws -> [Logger.Metadata] {
        let stage = sight.stage(from: level, configure)
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await stage.socket.send(sent)
        #expect(try await peer.receive() == .message(sent))
        try await peer.send(received)
        #expect(await reader.next() == .message(received))
        return (sight.entries("message sent") + sight.entries("message received")).map(\.metadata)
    }

    @Test func `a line has the kind, the length and the start of a message`() async throws {
        let lines = try await exchange(.text("{\"n\":1}\nnext"), .binary([0, 255, 16])) { $0.logsPayloads = true }
        #expect(
            lines == [
                ["kind": "text", "bytes": "12", "start": #""{\"n\":1}\u{a}next""#], ["kind": "binary", "bytes": "3", "start": "00 ff 10"],
            ])
        #expect(sight.log.filter { $0.hasPrefix("debug: message") } == ["debug: message sent", "debug: message received"])
    }

    @Test func `by default, and above the level debug, no line shows a message`() async throws {
        #expect(!WebSocketOptions().logsPayloads)
        #expect(try await exchange(.text("a"), .text("b"), from: .trace) { _ in } == [])
        #expect(try await exchange(.text("a"), .text("b"), from: .info) { $0.logsPayloads = true } == [])
    }

    @Test func `of a long message the first 64 bytes are shown, in whole characters`() async throws {
        let long = String(repeating: "ab", count: 31) + "xé" + String(repeating: "z", count: 100)
        let bytes = [UInt8](repeating: 0xAB, count: 65)
        let lines = try await exchange(.text(long), .binary(bytes)) { $0.logsPayloads = true }
        #expect(lines.first?["start"] == "\"\(String(repeating: "ab", count: 31))x\" …")
        #expect(lines.last?["start"] == "\(Array(repeating: "ab", count: 64).joined(separator: " ")) …")
        #expect(lines.first?["bytes"] == "165" && lines.last?["bytes"] == "65")
    }

    @Test func `the session's secrets are hidden even where they are cut, and so is the value of a secret's field`() async throws {
        let token = "tok3n-of-this-session"
        let padding = String(repeating: "-", count: 60)
        let lines = try await exchange(.text(padding + token), .text(#"{"seen":"\#(token)","password":"hush","n":1}"#)) { options in
            options.logsPayloads = true
            options.credentials = .bearer { Credential(token) }
        }
        #expect(lines.first?["start"] == "\"\(padding)<hidden>\"")
        #expect(lines.last?["start"] == #""{\"seen\":\"<hidden>\",\"password\":<hidden>,\"n\":1}""#)
    }

    @Test func `of a message in pieces only the first one is shown, because it may name a secret in a later one`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.delivery = .chunks
        let stage = Stage(configuration: configuration) { options in
            sight.watch(&options, from: .debug)
            options.logsPayloads = true
        }
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        let connection = try #require(await stage.socket.session.usable)
        for _ in 1...2 {
            let ticket = try await peer.beginMessage()
            for (text, isLast) in [("{\"password\":\"hu", false), ("sh\"", false), ("}", true)] {
                try await peer.send(MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: isLast), of: ticket)
            }
            #expect(await reader.next() == .message(.text(#"{"password":"hush"}"#)))
            let pieces = AsyncStream<[UInt8]> { continuation in
                continuation.yield(Array("pin=hu".utf8))
                continuation.yield(Array("sh".utf8))
                continuation.finish()
            }
            try await connection.send(.text, pieces: pieces)
        }
        let received = sight.entries("piece received").map(\.metadata)
        let first: Logger.Metadata = ["kind": "text", "bytes": "15", "start": #""{\"password\":<hidden>""#]
        #expect(received.count == 6 && received[0] == first && received[3] == first)
        #expect(received[1] == ["kind": "text", "bytes": "3"] && received[2] == ["kind": "text", "bytes": "1"])
        let sent = sight.entries("piece sent").map { $0.metadata["start"] }
        #expect(sent == ["\"pin=<hidden>\"", nil, nil, "\"pin=<hidden>\"", nil, nil])
    }

    @Test func `payload logging changes no event, receipt or close`() async throws {
        let stage = sight.stage { $0.logsPayloads = true }
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        let pieces = AsyncStream<[UInt8]> { continuation in
            continuation.yield(Array("in ".utf8))
            continuation.yield(Array("pieces".utf8))
            continuation.finish()
        }
        let connection = try #require(await stage.socket.session.usable)
        try await connection.send(.text, pieces: pieces)
        #expect(try await peer.receive() == .message(.text("in pieces")))
        #expect(sight.entries("piece sent").map { $0.metadata["start"] } == ["\"in \"", nil, nil])
        let receipt = try await stage.socket.send(tracked: .text("bye"))
        #expect(await receipt.outcome() == .written)
        _ = await peer.close(CloseFrame(.normal))
        #expect(await reader.next() == .closed(nil))
    }
}
