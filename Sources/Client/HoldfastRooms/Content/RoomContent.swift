import Foundation
public import RoomCore

/// What an app says in messages of one type.
///
/// ```swift
/// struct Move: RoomContent {
///     static let typeName = "game.move"
///     var from: String
///     var to: String
/// }
/// ```
///
/// It travels as JSON, so that readers of other kinds, such as a web page, understand it.
public protocol RoomContent: Codable, Sendable {
    /// The name of the type on the wire, 1 to 64 bytes.
    ///
    /// Names that begin with `holdfast.` belong to the protocol.
    static var typeName: String { get }
}

/// Text that somebody wrote.
public struct ChatText: RoomContent, Hashable {
    /// `chat.text`.
    public static let typeName = "chat.text"
    /// What was written.
    public var text: String

    /// Text.
    public init(_ text: String) { self.text = text }
}

/// A reaction to a message: one key, such as an emoji, set or taken back.
struct ReactionContent: RoomContent {
    static let typeName = "holdfast.react"
    var key: String
    var on: Bool
}

extension RoomContent {
    /// The publication that carries it.
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
    /// Reads the payload as a value.
    ///
    /// - Throws: What Foundation's decoder throws; that of bytes is always an error.
    public func decode<Content: RoomContent>(_ type: Content.Type) throws -> Content {
        guard case .json(let bytes) = self else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "the payload is not JSON"))
        }
        return try JSONDecoder().decode(type, from: Data(bytes))
    }
}

extension Entry {
    /// What it says, if it is of this type and can be read; else nil.
    public func content<Content: RoomContent>(_ type: Content.Type) -> Content? {
        self.type == type.typeName ? try? payload.decode(type) : nil
    }
}
