import CodecCore
import HoldfastProtocols
package import ProtocolCore
package import QuotesCore
package import WebSocketCore

/// Turns requests and replies into messages, and back.
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

    /// What a client sent; nil if it is of a type that a later version has.
    ///
    /// - Throws: What is wrong with it, for the words of the refusal.
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

    /// What a server sent; nil if it is of a type that a later version has.
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

/// How the messages of the quotes protocol are written; the subprotocol says which.
public enum QuotesEncoding: String, CaseIterable, Hashable, Sendable {
    /// Text that everything can read.
    case json
    /// The same maps in about half the bytes.
    case messagePack = "msgpack"
    /// The fewest bytes, for those who have Protocol Buffers anyway.
    case protobuf

    /// The encoding that a subprotocol stands for; nil if it is none of the quotes protocol, version 1.
    public init?(subprotocol: String) {
        guard let encoding = Self.allCases.first(where: { $0.subprotocol == subprotocol }) else { return nil }
        self = encoding
    }

    /// What is offered and agreed on in the opening handshake.
    public var subprotocol: String { "holdfast.quotes.v1.\(rawValue)" }

    /// The encoding a server takes: the first that the client offers and the server knows.
    public static func agreed(on offered: [String]) -> QuotesEncoding? { offered.lazy.compactMap { QuotesEncoding(subprotocol: $0) }.first }
}
