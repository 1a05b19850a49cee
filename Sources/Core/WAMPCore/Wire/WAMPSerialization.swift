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
