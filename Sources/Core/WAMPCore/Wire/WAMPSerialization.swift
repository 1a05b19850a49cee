public import CodecCore
package import WebSocketCore

/// How messages are written; agreed on as the subprotocol of the WebSocket.
public enum WAMPSerialization: String, Hashable, Sendable, CaseIterable {
    /// JSON, in text messages. Bytes are texts of Base64 behind a character of code 0.
    case json
    /// MessagePack, in binary messages.
    case messagePack
    /// CBOR, in binary messages.
    case cbor

    /// What it is called in the opening handshake.
    public var subprotocol: String {
        switch self {
        case .json: "wamp.2.json"
        case .messagePack: "wamp.2.msgpack"
        case .cbor: "wamp.2.cbor"
        }
    }

    /// The serialization that a subprotocol stands for, or nil.
    public init?(subprotocol: String) {
        guard let found = Self.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = found
    }

    /// Whether its messages are text; else they are binary.
    public var isText: Bool { self == .json }

    /// The kind of a WebSocket message that holds one.
    package var messageKind: MessageKind { isText ? .text : .binary }
}

/// Why bytes are no message of WAMP.
public struct WAMPFormatError: Error, Hashable, Sendable {
    /// What is wrong.
    public enum Reason: Hashable, Sendable {
        /// The bytes are none of the serialization.
        case undecodable(CodecError)
        /// It is no array that begins with a number.
        case noMessage
        /// No message has this number.
        case unknownType(UInt64)
        /// A field is missing, or is of another type than the specification has: its name.
        case field(String)
        /// There are more fields than the message has.
        case tooManyFields
        /// A message of the wrong kind: text where binary was agreed on, or the reverse.
        case messageKind
    }

    /// What is wrong.
    public let reason: Reason
    /// The number of the message, if it could be read.
    public let type: UInt64?

    /// An error of a message.
    public init(_ reason: Reason, type: UInt64? = nil) { (self.reason, self.type) = (reason, type) }
}

extension WAMPFormatError: CustomStringConvertible {
    /// The message by its name, and what is wrong with it: `SUBSCRIBE: "topic" is missing or no text`.
    public var description: String {
        let words =
            switch reason {
            case .undecodable(let error): error.description
            case .noMessage: "no list that begins with the number of a message"
            case .unknownType(let number): "no message has the number \(number)"
            case .field(let name): "\"\(name)\" is missing or no \(Self.kind(of: name))"
            case .tooManyFields: "more fields than the message has"
            case .messageKind: "text where binary was agreed on, or the reverse"
            }
        guard let type, let name = WAMPMessage.name(ofType: type) else { return words }
        return "\(name): \(words)"
    }

    private static func kind(of field: String) -> String {
        switch field {
        case "details", "options", "extra", "keywords": "dictionary"
        case "arguments": "list"
        case "request", "session", "publication", "subscription", "registration": "id"
        case "request type": "number of a request"
        default: "text"
        }
    }
}
