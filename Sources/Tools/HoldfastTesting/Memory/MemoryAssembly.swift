import Holdfast
import WebSocketRuntime

/// Turns what a peer handed over into what is received: whole messages or pieces, within the limits.
struct MemoryAssembly {
    private let delivery: Delivery
    private let limit: Int
    /// The message that arrives in pieces: what there is of it, or only its size where pieces are passed on.
    private var partial: [UInt8] = []
    private var size = 0
    private var validator = UTF8Validator()

    init(_ delivery: Delivery, limit: Int) { (self.delivery, self.limit) = (delivery, limit) }

    /// What the app gets now; nil if there is more to come.
    mutating func receive(_ entry: OutboundQueue.Entry) throws(ProtocolViolation) -> Received? {
        switch entry {
        case .message(let message):
            try check(message.byteCount)
            return delivery == .messages ? .message(message) : .chunk(message.piece)
        case .chunk(let chunk, _):
            return try receive(chunk)
        case .mark: return nil
        }
    }

    private mutating func receive(_ chunk: MessageChunk) throws(ProtocolViolation) -> Received? {
        size += chunk.bytes.count
        try check(size)
        if chunk.kind == .text {
            let isText = chunk.bytes.withUnsafeBytes { validator.validate($0) } && (!chunk.isLast || validator.isComplete)
            guard isText else { throw ProtocolViolation(.invalidUTF8, "a text message") }
        }
        if delivery == .messages { partial += chunk.bytes }
        guard chunk.isLast else { return delivery == .chunks ? .chunk(chunk) : nil }
        defer { (partial, size, validator) = ([], 0, UTF8Validator()) }
        guard delivery == .messages else { return .chunk(chunk) }
        return .message(chunk.kind == .text ? .text(String(decoding: partial, as: UTF8.self)) : .binary(partial))
    }

    private func check(_ size: Int) throws(ProtocolViolation) {
        if size > limit { throw ProtocolViolation(.messageTooBig, "\(size) bytes, at most \(limit) are allowed (limits.message)") }
    }
}

extension Message {
    /// The whole message as its only piece.
    fileprivate var piece: MessageChunk {
        switch self {
        case .text(let text): MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: true)
        case .binary(let bytes): MessageChunk(kind: .binary, bytes: bytes, isLast: true)
        }
    }
}
