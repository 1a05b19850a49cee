import CodecCore
import WAMPCore
import WebSocketCore
import WebSocketNIO

/// A message as it goes to clients of one serialization.
enum WrittenMessage: Sendable {
    /// For one client.
    case own(MessageKind, [UInt8])
    /// The sockets of one event loop write the same bytes.
    case shared(SharedMessage)

    init(_ message: WAMPMessage, as serialization: WAMPSerialization) throws(CodecError) {
        self = .own(serialization.messageKind, try message.encoded(as: serialization))
    }

    var byteCount: Int {
        switch self {
        case .own(_, let bytes): bytes.count
        case .shared(let message): message.byteCount
        }
    }

    /// As transports carry it that know nothing of sharing.
    var message: Message {
        switch self {
        case .own(let kind, let bytes): Message(kind, bytes)
        case .shared(let message): Message(message.kind, Array(message.payload))
        }
    }
}

/// A message for many clients of one event loop: written once for each serialization that one of them speaks.
struct MessageForMany {
    let message: WAMPMessage
    /// Nil: the same.
    private let inJSON: WAMPMessage?
    private var json: Result<WrittenMessage, CodecError>?
    private var messagePack: Result<WrittenMessage, CodecError>?
    private var cbor: Result<WrittenMessage, CodecError>?

    init(_ message: WAMPMessage, inJSON: WAMPMessage? = nil) { (self.message, self.inJSON) = (message, inJSON) }

    mutating func written(as serialization: WAMPSerialization) throws(CodecError) -> WrittenMessage {
        switch serialization {
        case .json: if let inJSON { try Self.once(&json, inJSON, serialization) } else { try Self.once(&json, message, serialization) }
        case .messagePack: try Self.once(&messagePack, message, serialization)
        case .cbor: try Self.once(&cbor, message, serialization)
        }
    }

    private static func once(
        _ place: inout Result<WrittenMessage, CodecError>?, _ message: WAMPMessage, _ serialization: WAMPSerialization
    ) throws(CodecError) -> WrittenMessage {
        if let place { return try place.get() }
        let result = Result { () throws(CodecError) in
            WrittenMessage.shared(SharedMessage(serialization.messageKind, try message.encoded(as: serialization)))
        }
        place = result
        return try result.get()
    }
}

extension WAMPSerialization {
    /// The kind of a WebSocket message that holds it.
    var messageKind: MessageKind { isText ? .text : .binary }
}

extension Message {
    fileprivate init(_ kind: MessageKind, _ bytes: [UInt8]) {
        self = kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes)
    }
}
