public import RoomCore

/// The types of content that an app knows, by their names.
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
    /// What an entry says.
    public enum Reading: Sendable {
        /// It is of a known type.
        case known(any RoomContent)
        /// It is of a type that is not known here; its payload as it came.
        case unknown(type: String, Payload)
        /// It is of a known type, and its payload is none of it.
        case unreadable(type: String, Payload, any Error)
    }
    private var readers: [String: @Sendable (Payload) throws -> any RoomContent] = [:]

    /// These types are known.
    public init(_ types: any RoomContent.Type...) {
        for type in types { register(type) }
    }

    /// From now on this type is known; it takes the place of another with the same name.
    public mutating func register(_ type: any RoomContent.Type) { readers[type.typeName] = { try $0.decode(type) } }

    /// Reads an entry.
    public func read(_ entry: Entry) -> Reading { read(entry.type, entry.payload) }

    /// Reads a payload.
    public func read(_ type: String, _ payload: Payload) -> Reading {
        guard let reader = readers[type] else { return .unknown(type: type, payload) }
        do { return .known(try reader(payload)) } catch { return .unreadable(type: type, payload, error) }
    }
}
