import CodecCore
import WAMPCore
import WebSocketCore
import WebSocketNIO

/// A message, encoded for clients of one serialization.
enum WrittenMessage: Sendable {
    /// For one client.
    case own(MessageKind, [UInt8])
    /// Shared bytes, written by about this many sockets of one event loop.
    case shared(SharedMessage, by: Int)

    init(_ message: WAMPMessage, as serialization: WAMPSerialization) throws(CodecError) {
        self = .own(serialization.messageKind, try message.encoded(as: serialization))
    }

    var byteCount: Int {
        switch self {
        case .own(_, let bytes): bytes.count
        case .shared(let message, _): message.byteCount
        }
    }

    /// The memory that it uses while it waits for one client.
    var weight: Int {
        switch self {
        case .own(_, let bytes): 64 + bytes.count
        case .shared(let message, let sharers): 64 + message.byteCount / sharers
        }
    }

    /// The message for transports that do not support sharing.
    var message: Message {
        switch self {
        case .own(let kind, let bytes): Message(kind, bytes)
        case .shared(let message, _): Message(message.kind, Array(message.payload))
        }
    }
}

/// A message for many clients of one event loop: encoded once for each serialization in use.
struct MessageForMany {
    let message: WAMPMessage
    /// The form for JSON clients; nil if it is the same.
    private let inJSON: WAMPMessage?
    /// The number of clients, at least 1.
    private let sharers: Int
    private var json: Result<WrittenMessage, CodecError>?
    private var messagePack: Result<WrittenMessage, CodecError>?
    private var cbor: Result<WrittenMessage, CodecError>?

    init(_ message: WAMPMessage, inJSON: WAMPMessage? = nil, for sharers: Int) {
        (self.message, self.inJSON, self.sharers) = (message, inJSON, max(sharers, 1))
    }

    mutating func written(as serialization: WAMPSerialization) throws(CodecError) -> WrittenMessage {
        switch serialization {
        case .json: try Self.once(&json, inJSON ?? message, serialization, sharers)
        case .messagePack: try Self.once(&messagePack, message, serialization, sharers)
        case .cbor: try Self.once(&cbor, message, serialization, sharers)
        }
    }

    private static func once(
        _ place: inout Result<WrittenMessage, CodecError>?, _ message: WAMPMessage, _ serialization: WAMPSerialization, _ sharers: Int
    ) throws(CodecError) -> WrittenMessage {
        if let place { return try place.get() }
        let result = Result { () throws(CodecError) in
            WrittenMessage.shared(SharedMessage(serialization.messageKind, try message.encoded(as: serialization)), by: sharers)
        }
        place = result
        return try result.get()
    }
}

extension Message {
    fileprivate init(_ kind: MessageKind, _ bytes: [UInt8]) {
        self = kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
    }
}
