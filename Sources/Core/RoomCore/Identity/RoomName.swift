/// The name of a room: 1 to 128 bytes of UTF-8 without control characters.
public struct RoomName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text.
    public let text: String

    /// Takes a name; nil if it is empty, longer than 128 bytes, or holds a control character.
    public init?(_ text: String) {
        guard (1...RoomsLimits.nameLength).contains(text.utf8.count), text.unicodeScalars.allSatisfy(\.isPlain) else { return nil }
        self.text = text
    }

    /// The name as text.
    public var description: String { text }
    /// By their bytes, as everywhere: two ways to write an accent are two names.
    public static func == (lhs: RoomName, rhs: RoomName) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
    /// By its bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    /// By their bytes.
    public static func < (lhs: RoomName, rhs: RoomName) -> Bool { lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8) }
}
