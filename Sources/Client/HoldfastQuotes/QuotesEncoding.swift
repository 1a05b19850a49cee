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
