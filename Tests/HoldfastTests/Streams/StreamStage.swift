@testable import Holdfast
import HoldfastTesting
import WebSocketRuntime
import WebSocketCore

struct StreamTick: Codable, Hashable, Sendable {
    var symbol: String
    var price: Int
}

/// A server that sends ticks, and a socket that counts the decoded ones.
struct StreamStage: Sendable {
    let stage: Stage
    let peer: MemoryTransport
    /// Counts the decoded values.
    let decoded: StreamDecodings

    init(_ configure: (inout WebSocketOptions) -> Void = { _ in }) async throws {
        let decoded = StreamDecodings()
        let stage = Stage { options in
            options.codec = StreamCountingCodec(decodings: decoded)
            configure(&options)
        }
        (self.stage, self.decoded) = (stage, decoded)
        peer = try await stage.accept()
    }

    var socket: WebSocket { stage.socket }

    /// Waits until something sleeps for this duration, and advances the clock by it.
    func pass(_ duration: Duration) async { await stage.pause(of: duration) }

    func send(_ symbol: String, _ price: Int) async throws { try await Self.send(symbol, price, over: peer) }

    static func send(_ symbol: String, _ price: Int, over peer: MemoryTransport) async throws {
        try await peer.send(.text(#"{"symbol":"\#(symbol)","price":\#(price)}"#))
    }

    /// Waits until everything that was sent has reached all current streams.
    func settle(over peer: MemoryTransport? = nil) async throws {
        // The newest lane gets each message last.
        var marks = socket.stream(by: Self.mark, delivery: .newest(.max)).makeAsyncIterator()
        try await (peer ?? self.peer).send(.text("mark"))
        while try await marks.next() == 0 {}
    }

    /// Decodes 1 for a mark and 0 for a tick.
    private static let mark = MessageDecoding<Int>("mark") { payload, _ in payload.byteCount == 4 ? 1 : 0 }
}

/// Counts decodings.
final class StreamDecodings: Sendable {
    private let total = LockedValue(0)
    var count: Int { total.withLockedValue(\.self) }
    func add() { total.withLockedValue { $0 += 1 } }
}

/// A JSON codec that counts its decodings.
struct StreamCountingCodec: MessageCodec {
    let decodings: StreamDecodings
    private let codec = JSONCodec()

    init(decodings: StreamDecodings) { self.decodings = decodings }

    var name: String { codec.name }

    func encode<Value: Encodable>(_ value: Value) throws -> Message { try codec.encode(value) }

    func decode<Value: Decodable>(_ type: Value.Type, from payload: RawSpan, _ kind: MessageKind) throws -> Value {
        let value = try codec.decode(type, from: payload, kind)
        decodings.add()
        return value
    }
}
