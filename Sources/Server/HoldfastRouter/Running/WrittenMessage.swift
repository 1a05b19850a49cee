import CodecCore
import WAMPCore
import WebSocketCore
import WebSocketNIO

/// A message as it goes to clients of one serialization.
enum WrittenMessage: Sendable {
    /// For one client.
    case own(MessageKind, [UInt8])
    /// The sockets of one event loop write the same bytes, about so many of them.
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

    /// What it takes in memory while it waits for one client.
    var weight: Int {
        switch self {
        case .own(_, let bytes): 64 + bytes.count
        case .shared(let message, let sharers): 64 + message.byteCount / sharers
        }
    }

    /// As transports carry it that know nothing of sharing.
    var message: Message {
        switch self {
        case .own(let kind, let bytes): Message(kind, bytes)
        case .shared(let message, _): Message(message.kind, Array(message.payload))
        }
    }
}

/// A message for many clients of one event loop: written once for each serialization that one of them speaks.
struct MessageForMany {
    let message: WAMPMessage
    /// Nil: the same.
    private let inJSON: WAMPMessage?
    /// How many clients it is for, at least 1.
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
