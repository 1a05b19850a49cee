import CodecCore
import HoldfastProtocols
package import ProtocolCore
package import QuotesCore
package import WebSocketCore

/// Encodes and decodes requests and replies.
package struct QuotesCodec: ProtocolCoding, Hashable {
    package typealias Greeting = NoGreeting
    package typealias Received = QuotesReply
    package typealias Sent = QuotesRequest

    package let encoding: QuotesEncoding

    package init(_ encoding: QuotesEncoding) { self.encoding = encoding }

    package init?(subprotocol: String?) {
        guard let encoding = subprotocol.flatMap({ QuotesEncoding(subprotocol: $0) }) else { return nil }
        self.encoding = encoding
    }

    package func encode(_ request: QuotesRequest) -> Message {
        switch encoding {
        case .json: .text(String(decoding: QuotesFormat.json.encode(request), as: UTF8.self))
        case .messagePack: .binary(QuotesFormat.messagePack.encode(request))
        case .protobuf: .binary(request.protobuf)
        }
    }

    package func encode(_ reply: QuotesReply) -> Message {
        switch encoding {
        case .json: .text(String(decoding: QuotesFormat.json.encode(reply), as: UTF8.self))
        case .messagePack: .binary(QuotesFormat.messagePack.encode(reply))
        case .protobuf: .binary(reply.protobuf)
        }
    }

    /// Decodes a request of a client; returns nil if its type belongs to a later version.
    ///
    /// - Throws: The decoding error, for the text of the refusal.
    package func request(from message: Message) throws -> QuotesRequest? {
        try check(message)
        return try message.withBytes { bytes in
            switch encoding {
            case .json: try QuotesFormat.json.request(from: bytes.bytes)
            case .messagePack: try QuotesFormat.messagePack.request(from: bytes.bytes)
            case .protobuf: try QuotesRequest(protobuf: bytes)
            }
        }
    }

    /// Decodes a reply of a server; returns nil if its type belongs to a later version.
    package func decode(_ message: Message) throws -> QuotesReply? {
        try check(message)
        return try message.withBytes { bytes in
            switch encoding {
            case .json: try QuotesFormat.json.reply(from: bytes.bytes)
            case .messagePack: try QuotesFormat.messagePack.reply(from: bytes.bytes)
            case .protobuf: try QuotesReply(protobuf: bytes)
            }
        }
    }

    private func check(_ message: Message) throws(CodecError) {
        guard message.kind == (encoding == .json ? .text : .binary) else { throw CodecError(.malformed, at: 0) }
    }
}

/// The encoding of messages in the quotes protocol, as selected by the subprotocol.
public enum QuotesEncoding: String, CaseIterable, Hashable, Sendable {
    /// Text, which every client can read.
    case json
    /// The same maps in about half the size.
    case messagePack = "msgpack"
    /// The smallest size, for apps that use Protocol Buffers anyway.
    case protobuf

    /// Creates the encoding of a subprotocol; nil if it is none of the quotes protocol, version 1.
    public init?(subprotocol: String) {
        guard let encoding = Self.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = encoding
    }

    /// The subprotocol that is negotiated in the opening handshake.
    public var subprotocol: String { "holdfast.quotes.v1.\(rawValue)" }

    /// Returns the encoding that a server selects: the first that the client offers and the server knows.
    public static func agreed(on offered: [String]) -> QuotesEncoding? { offered.lazy.compactMap { QuotesEncoding(subprotocol: $0) }.first }
}
