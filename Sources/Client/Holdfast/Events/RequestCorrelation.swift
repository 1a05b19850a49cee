package import CodecCore
import WebSocketRuntime
public import WebSocketCore

/// How a request and its answer are known to belong together: both carry an id, and this reads it from the answer.
///
/// The socket gives the ids: 1, 2, 3 and so on, none twice, whatever the connection.
public struct RequestCorrelation: Sendable {
    /// Correlations of one identity read a message once for all their requests.
    package enum Identity: Hashable, Sendable {
        case key(PayloadPeek)
        case custom(UInt64)
    }
    private static let lastCustom = LockedValue(UInt64(0))

    package let identity: Identity
    package let read: @Sendable (Message) -> UInt64?

    /// A correlation of your own; keep it, and use it for all requests of a kind.
    ///
    /// - Parameter idOfAnswer: Reads the id of the request that a message answers; nil if it answers none. Called for each message while a
    ///   request waits, so it should say no quickly.
    public init(_ idOfAnswer: @escaping @Sendable (Message) -> UInt64?) {
        let number = Self.lastCustom.withLockedValue { last in
            last += 1
            return last
        }
        (identity, read) = (.custom(number), idOfAnswer)
    }

    private init(_ peek: PayloadPeek) {
        identity = .key(peek)
        read = { message in message.withBytes { peek.id(in: $0.bytes) } }
    }

    /// Answers have the id under the key `id`, in the format that a codec's name says; in JSON if nobody here can look into it.
    static func standard(for codec: any MessageCodec) -> RequestCorrelation {
        RequestCorrelation(PayloadPeek(PayloadPeek.Format(named: codec.name) ?? .json, "id"))
    }

    /// Answers are JSON objects with the id as a number, or as a string of digits, under this key.
    ///
    /// Nothing behind the id is looked at.
    public static func json(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.json, key)) }

    /// Answers are maps of MessagePack; otherwise as ``json(key:)``.
    public static func messagePack(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.messagePack, key)) }

    /// Answers are maps of CBOR; otherwise as ``json(key:)``.
    public static func cbor(key: String = "id") -> RequestCorrelation { RequestCorrelation(PayloadPeek(.cbor, key)) }
}

extension PayloadPeek {
    /// A number, however it is written, or the digits of a string.
    fileprivate func id(in payload: RawSpan) -> UInt64? {
        switch value(in: payload) {
        case .integer(let number): UInt64(exactly: number)
        case .unsigned(let number): number
        case .float(let number): UInt64(exactly: number)
        case .text(let digits): UInt64(digits)
        default: nil
        }
    }
}
