import WebSocketCore
import WebSocketRuntime

/// Makes whole messages of what is received.
struct MessageJoiner {
    private var partial: [UInt8] = []

    /// The message that `received` is or completes; nil if there is more to come.
    mutating func join(_ received: Received) -> Message? {
        switch received {
        case .message(let message): return message
        case .chunk(let chunk):
            partial += chunk.bytes
            guard chunk.isLast else { return nil }
            defer { partial = [] }
            return chunk.kind == .text ? .text(String(decoding: partial, as: UTF8.self)) : .binary(partial)
        }
    }
}
