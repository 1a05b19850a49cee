/// Which symbols are meant: `AAPL`, `BANK*`, `SAIL.?`.
///
/// `*` stands for any run of characters, also none, `?` for exactly one, everything else for itself.
public struct SymbolPattern: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// A pattern; nil if it is empty, longer than 32 characters, or has a character that no symbol has.
    public init?(_ pattern: String) {
        guard 1...SymbolName.longest ~= pattern.utf8.count, pattern.utf8.allSatisfy(SymbolName.isValid) else { return nil }
        bytes = Array(pattern.utf8)
    }

    /// As it was written.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether a symbol is meant.
    ///
    /// Takes at most as many steps as the product of both lengths: only the last `*` is ever tried again.
    public func matches(_ symbol: String) -> Bool {
        let symbol = symbol.utf8
        var (at, place) = (0, symbol.startIndex)
        var lastStar: (next: Int, place: String.Index)?
        while place < symbol.endIndex {
            if at < bytes.count, bytes[at] == UInt8(ascii: "*") {
                at += 1
                lastStar = (at, place)
            } else if at < bytes.count, bytes[at] == UInt8(ascii: "?") || bytes[at] == symbol[place] {
                (at, place) = (at + 1, symbol.index(after: place))
            } else if let star = lastStar {
                // The star stands for one more character than was tried before.
                let further = symbol.index(after: star.place)
                lastStar = (star.next, further)
                (at, place) = (star.next, further)
            } else {
                return false
            }
        }
        return bytes[at...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

/// The rule for names of symbols: 1 to 32 characters of ASCII that need no escaping anywhere, and are no wildcards.
package enum SymbolName {
    package static let longest = 32

    /// Whether a symbol may be called so.
    package static func isValid(_ name: String) -> Bool {
        1...longest ~= name.utf8.count && name.utf8.allSatisfy { isValid($0) && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") }
    }

    /// Whether a pattern may have this character.
    static func isValid(_ byte: UInt8) -> Bool {
        0x21...0x7e ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
