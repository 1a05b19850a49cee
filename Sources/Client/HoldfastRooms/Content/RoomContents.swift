public import RoomCore

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
