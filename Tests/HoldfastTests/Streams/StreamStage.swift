@testable import Holdfast
import HoldfastTesting
import WebSocketRuntime
import WebSocketCore

struct StreamTick: Codable, Hashable, Sendable {
    var symbol: String
    var price: Int
}

/// A server that sends ticks, and a consumer that says when all of them have come.
struct StreamStage: Sendable {
    let stage: Stage
    let peer: MemoryTransport
    /// How many values were decoded.
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

    /// Waits until somebody sleeps for so long, and lets that pass.
    func pass(_ duration: Duration) async { await stage.pause(of: duration) }

    func send(_ symbol: String, _ price: Int) async throws { try await Self.send(symbol, price, over: peer) }

    static func send(_ symbol: String, _ price: Int, over peer: MemoryTransport) async throws {
        try await peer.send(.text(#"{"symbol":"\#(symbol)","price":\#(price)}"#))
    }

    /// Waits until all that was sent has come to all streams that there are.
    func settle(over peer: MemoryTransport? = nil) async throws {
        // The newest lane is the last to be given a message.
        var marks = socket.stream(by: Self.mark, delivery: .newest(.max)).makeAsyncIterator()
        try await (peer ?? self.peer).send(.text("mark"))
        while try await marks.next() == 0 {}
    }

    /// 1 for a mark, 0 for a tick.
    private static let mark = MessageDecoding<Int>("mark") { payload, _ in payload.byteCount == 4 ? 1 : 0 }
}

/// How often something was decoded.
final class StreamDecodings: Sendable {
    private let total = LockedValue(0)
    var count: Int { total.withLockedValue(\.self) }
    func add() { total.withLockedValue { $0 += 1 } }
}

/// JSON, counted.
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
