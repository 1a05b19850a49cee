import Foundation
public import RoomCore

/// The content of messages of one type, defined by the app.
///
/// ```swift
/// struct Move: RoomContent {
///     static let typeName = "game.move"
///     var from: String
///     var to: String
/// }
/// ```
///
/// It is sent as JSON, so that other kinds of clients, such as a web page, can read it.
public protocol RoomContent: Codable, Sendable {
    /// The name of the type on the wire, 1 to 64 bytes.
    ///
    /// Names that begin with `holdfast.` belong to the protocol.
    static var typeName: String { get }
}

/// A text message.
public struct ChatText: RoomContent, Hashable {
    /// The type name, `chat.text`.
    public static let typeName = "chat.text"
    /// The text.
    public var text: String

    /// Creates a text message.
    public init(_ text: String) { self.text = text }
}

/// A reaction to a message: one key, such as an emoji, which is set or removed.
struct ReactionContent: RoomContent {
    static let typeName = "holdfast.react"
    var key: String
    var on: Bool
}

extension RoomContent {
    /// Encodes the content for publication.
    func publication(about reference: Reference? = nil, as type: String = Self.typeName) throws(RoomsError) -> Publication.Content {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Publication.Content(type: type, about: reference, payload: .json([UInt8](try encoder.encode(self))))
        } catch {
            throw .badContent("\(error)")
        }
    }
}

extension Payload {
    /// Decodes the payload as a value.
    ///
    /// - Throws: The errors of Foundation's decoder. A payload of bytes always throws.
    public func decode<Content: RoomContent>(_ type: Content.Type) throws -> Content {
        guard case .json(let bytes) = self else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the payload is not JSON"))
        }
        return try JSONDecoder().decode(type, from: Data(bytes))
    }
}

extension Entry {
    /// Decodes the entry's content if the entry is of this type and can be read; otherwise returns nil.
    public func content<Content: RoomContent>(_ type: Content.Type) -> Content? {
        self.type == type.typeName ? try? payload.decode(type) : nil
    }
}

/// The content types that an app knows, by name.
///
/// ```swift
/// let contents = RoomContents(ChatText.self, Move.self)
/// switch contents.read(entry) {
/// case .known(let move as Move): play(move)
/// case .known, .unreadable: break
/// case .unknown(let type, _): print("something newer: \(type)")
/// }
/// ```
public struct RoomContents: Sendable {
    /// The result of reading an entry.
    public enum Reading: Sendable {
        /// The content is of a known type.
        case known(any RoomContent)
        /// The content is of an unknown type; the payload is unchanged.
        case unknown(type: String, Payload)
        /// The content is of a known type, but its payload could not be decoded.
        case unreadable(type: String, Payload, any Error)
    }
    private var readers: [String: @Sendable (Payload) throws -> any RoomContent] = [:]

    /// Registers the given types.
    public init(_ types: any RoomContent.Type...) {
        for type in types { register(type) }
    }

    /// Registers a type; it replaces another type with the same name.
    public mutating func register(_ type: any RoomContent.Type) { readers[type.typeName] = { try $0.decode(type) } }

    /// Reads an entry.
    public func read(_ entry: Entry) -> Reading { read(entry.type, entry.payload) }

    /// Reads a payload.
    public func read(_ type: String, _ payload: Payload) -> Reading {
        guard let reader = readers[type] else { return .unknown(type: type, payload) }
        do { return .known(try reader(payload)) } catch { return .unreadable(type: type, payload, error) }
    }
}
