import CodecCore

extension Value {
    /// The maximum length in bytes of a text with non-ASCII characters, where texts are compared.
    private static let longestText = 1024

    /// Whether all texts in the value are quick to compare and to look up.
    ///
    /// Swift compares texts by their canonical Unicode form. With many combining marks in a row this takes quadratic time: 100 KB take
    /// seconds. ASCII is compared byte by byte.
    var isQuickToCompare: Bool {
        switch self {
        case .text(let text): Self.isQuickToCompare(text)
        case .array(let items): items.allSatisfy(\.isQuickToCompare)
        case .map(let map): map.isQuickToCompare
        case .tagged(_, let value): value.isQuickToCompare
        default: true
        }
    }

    static func isQuickToCompare(_ text: String) -> Bool {
        text.utf8.count <= longestText || text.utf8.allSatisfy { $0 < 0x80 }
    }
}

extension ValueMap {
    var isQuickToCompare: Bool { entries.allSatisfy { $0.key.isQuickToCompare && $0.value.isQuickToCompare } }
}
