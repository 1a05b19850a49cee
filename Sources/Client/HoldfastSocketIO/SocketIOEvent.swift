import CodecCore
import HoldfastCodecs
import HoldfastProtocols
import SocketIOCore

/// A typed event: its name, and the types of its arguments.
///
/// ```swift
/// enum API {
///     static let chat = Event<(String, Int)>("chat")
///     static let photo = Event<[UInt8]>("photo")
/// }
/// ```
/// An argument of the type `[UInt8]` or `Data`, or a property of such a type in an argument, is sent as bytes, without Base64. Arguments
/// that come in addition are ignored. Arguments missing at the end are nil if the type allows it.
public struct Event<Content>: Sendable {
    /// The name on the wire.
    public let name: String
    let encode: @Sendable (Content) throws -> [Value]
    let decode: @Sendable (SocketIOArguments) throws -> Content

    /// Creates an event with these arguments.
    public init<each Part: Codable & Sendable>(_ name: String) where Content == (repeat each Part) {
        self.name = name
        encode = { content in try SocketIOCoder.values(PositionalParts(parts: (repeat each content))) }
        decode = { try SocketIOCoder.decode(NamedParts<repeat each Part>.self, $0).parts.parts }
    }
}

/// The arguments of an event after its name.
private struct NamedParts<each Part: Decodable>: Decodable {
    let parts: PositionalParts<repeat each Part>

    init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        _ = try list.decode(String.self)
        parts = try PositionalParts(from: &list)
    }
}

/// Converts arguments to dynamic values and back.
enum SocketIOCoder {
    static let encoder: ValueEncoder = {
        // JavaScript writes a date in this form.
        var options = CodecOptions(dates: .iso8601)
        options.byteArrays = true
        return ValueEncoder(options: options)
    }()
    static let decoder: ValueDecoder = {
        // Arguments were checked against the limits of the client when they came.
        var options = CodecOptions(limits: CodecLimits(maximumDepth: .max, maximumBytes: .max))
        options.byteArrays = true
        return ValueDecoder(options: options)
    }()

    static func values<Source: Encodable>(_ source: Source) throws -> [Value] { try encoder.encode(source).items ?? [] }

    /// Encodes the arguments of an event, after its name, or of an acknowledgement.
    static func arguments(_ name: String?, _ values: () throws -> [Value]) throws(SocketIOFailure) -> SocketIOArguments {
        do { return try SocketIOArguments((name.map { [.text($0)] } ?? []) + values()) } catch {
            throw SocketIOFailure(.unencodable, detail: "the arguments cannot be encoded", underlying: error)
        }
    }

    /// Decodes the whole array; without byte strings straight from the JSON.
    static func decode<Target: Decodable>(_ type: Target.Type, _ arguments: SocketIOArguments) throws -> Target {
        if arguments.attachments.isEmpty { return try decoder.decode(type, json: arguments.json) }
        return try decoder.decode(type, from: .array(try arguments.values()))
    }
}

/// An element of the events that a client listens to.
public enum SocketIOEvent<Content> {
    /// An event of the server.
    case event(ReceivedEvent<Content>)
    /// Events may be missing here, because there was no session for this long, and the server could not recover it.
    case gap(Duration)
    /// An event whose arguments are not of the expected types, with the error. The listener goes on.
    case undecodable(SocketIOFailure)

    /// The arguments of an event; nil for anything else.
    public var content: Content? { if case .event(let event) = self { event.content } else { nil } }
    /// Whether it says that events may be missing.
    public var isGap: Bool { if case .gap = self { true } else { false } }
}

extension SocketIOEvent: Sendable where Content: Sendable {}

/// An event of the server, which may want an answer.
public struct ReceivedEvent<Content> {
    /// The name.
    public let name: String
    /// The arguments.
    public let content: Content
    let message: SocketIOMessage
    let source: SocketIOSource

    /// Whether the server wants an answer.
    public var wantsAnswer: Bool { message.id != nil }

    /// Answers the event, once; does nothing if the server wants no answer, has one, or has lost the connection since.
    ///
    /// - Parameter part: The arguments of the acknowledgement.
    /// - Throws: ``SocketIOFailure`` with the code `unencodable`.
    public func answer<each Part: Encodable & Sendable>(_ part: repeat each Part) throws(SocketIOFailure) {
        guard let id = message.id else { return }
        let arguments = try SocketIOCoder.arguments(nil) { try SocketIOCoder.values(PositionalParts(parts: (repeat each part))) }
        source.client.perform(.answer(source.name, id: id, session: message.session, arguments))
    }
}

extension ReceivedEvent: Sendable where Content: Sendable {}

/// The namespace of a connection from which an event came.
struct SocketIOSource: Sendable {
    let client: ProtocolClient<SocketIOMachine>
    let name: String
}
