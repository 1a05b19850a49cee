public import CodecCore
package import WebSocketCore

/// The serialization of messages, which the peers agree on as the WebSocket subprotocol.
public enum WAMPSerialization: String, Hashable, Sendable, CaseIterable {
    /// JSON, in text messages. Bytes are Base64 texts after a character of code 0.
    case json
    /// MessagePack, in binary messages.
    case messagePack
    /// CBOR, in binary messages.
    case cbor

    /// The name of the subprotocol in the opening handshake.
    public var subprotocol: String {
        switch self {
        case .json: "wamp.2.json"
        case .messagePack: "wamp.2.msgpack"
        case .cbor: "wamp.2.cbor"
        }
    }

    /// Creates the serialization of a subprotocol; nil if it is unknown.
    public init?(subprotocol: String) {
        guard let found = Self.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = found
    }

    /// Whether messages are text messages; otherwise they are binary.
    public var isText: Bool { self == .json }

    /// The kind of WebSocket message that carries a message.
    package var messageKind: MessageKind { isText ? .text : .binary }
}

/// Why bytes are not a WAMP message.
public struct WAMPFormatError: Error, Hashable, Sendable {
    /// The kind of error.
    public enum Reason: Hashable, Sendable {
        /// The bytes are not valid in the serialization.
        case undecodable(CodecError)
        /// The value is not an array that starts with a number.
        case noMessage
        /// There is no message type with this number.
        case unknownType(UInt64)
        /// The field with this name is missing or has the wrong type.
        case field(String)
        /// The message has too many fields.
        case tooManyFields
        /// The message has the wrong kind: text where binary was agreed on, or the reverse.
        case messageKind
    }

    /// The kind of error.
    public let reason: Reason
    /// The type of the message, if it could be read.
    public let type: UInt64?

    /// Creates an error.
    public init(_ reason: Reason, type: UInt64? = nil) { (self.reason, self.type) = (reason, type) }
}

extension WAMPFormatError: CustomStringConvertible {
    /// The name of the message and the problem: `SUBSCRIBE: "topic" is missing or not a text`.
    public var description: String {
        let words =
            switch reason {
            case .undecodable(let error): error.description
            case .noMessage: "not a list that starts with a message type"
            case .unknownType(let number): "unknown message type \(number)"
            case .field(let name): "\"\(name)\" is missing or not \(Self.kind(of: name))"
            case .tooManyFields: "too many fields"
            case .messageKind: "a text message where binary was agreed on, or the reverse"
            }
        guard let type, let name = WAMPMessage.name(ofType: type) else { return words }
        return "\(name): \(words)"
    }

    private static func kind(of field: String) -> String {
        switch field {
        case "details", "options", "extra", "keywords": "a dictionary"
        case "arguments": "a list"
        case "request", "session", "publication", "subscription", "registration": "an id"
        case "request type": "a request type"
        default: "a text"
        }
    }
}
