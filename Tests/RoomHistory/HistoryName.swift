/// The name of a room or of a writer, compared by its bytes.
///
/// Strings are equal if they look the same. Two ways to write an accent would be one room here, although a hub has two rooms.
struct HistoryName: Hashable, Comparable, CustomStringConvertible, Sendable {
    let description: String

    init(_ text: String) { description = text }

    static func == (lhs: HistoryName, rhs: HistoryName) -> Bool { lhs.description.utf8.elementsEqual(rhs.description.utf8) }
    static func < (lhs: HistoryName, rhs: HistoryName) -> Bool {
        lhs.description.utf8.lexicographicallyPrecedes(rhs.description.utf8)
    }
    func hash(into hasher: inout Hasher) { for byte in description.utf8 { hasher.combine(byte) } }
}
