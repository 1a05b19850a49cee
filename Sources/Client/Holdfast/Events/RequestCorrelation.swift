import Foundation
import NIOConcurrencyHelpers
public import WebSocketCore

/// How a request and its answer are known to belong together: both carry an id, and this reads it from the answer.
///
/// The socket gives the ids: 1, 2, 3 and so on, none twice, whatever the connection.
public struct RequestCorrelation: Sendable {
    /// Correlations of one identity read a message once for all their requests.
    package enum Identity: Hashable, Sendable {
        case key(String)
        case custom(UInt64)
    }
    private static let lastCustom = NIOLockedValueBox(UInt64(0))

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

    private init(key: String) {
        identity = .key(key)
        read = { message in
            guard let head = try? JSONDecoder().decode(Head.self, from: message.data, configuration: key) else { return nil }
            return head.id
        }
    }

    /// Answers are JSON objects with the id as a number, or as a string of digits, under this key.
    public static func json(key: String = "id") -> RequestCorrelation { RequestCorrelation(key: key) }

    /// All that is read of an answer.
    private struct Head: DecodableWithConfiguration {
        let id: UInt64?

        init(from decoder: any Decoder, configuration key: String) throws {
            let fields = try decoder.container(keyedBy: FieldName.self)
            let name = FieldName(stringValue: key)
            id = (try? fields.decode(UInt64.self, forKey: name)) ?? (try? fields.decode(String.self, forKey: name)).flatMap { UInt64($0) }
        }
    }
    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Message {
    /// The payload, for what is decoded by Foundation.
    var data: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .binary(let bytes): Data(bytes)
        }
    }
}
