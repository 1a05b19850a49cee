import CodecCore

extension Value {
    /// How long a text may be, in bytes, that holds other characters than ASCII, where texts are compared.
    private static let longestText = 1024

    /// Whether no text in it takes long to compare or to look up.
    ///
    /// Swift does that by the canonical form of Unicode. Many combining marks in a row take the square of their number: 100 KB take
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
