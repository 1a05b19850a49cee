/// A pattern for symbols: `AAPL`, `BANK*`, `SAIL.?`.
///
/// `*` stands for any number of characters, including none, and `?` for exactly one. All other characters stand for themselves.
public struct SymbolPattern: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Creates a pattern; fails if it is empty, longer than 32 characters, or has a character that no symbol can have.
    public init?(_ pattern: String) {
        guard 1...SymbolName.longest ~= pattern.utf8.count, pattern.utf8.allSatisfy(SymbolName.isValid) else { return nil }
        bytes = Array(pattern.utf8)
    }

    /// The pattern as written.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns whether a symbol matches.
    ///
    /// The number of steps is at most the product of both lengths, because only the last `*` is retried.
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
                // The star matches one character more than before.
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

/// The rule for symbol names: 1 to 32 ASCII characters that need no escaping and are not wildcards.
package enum SymbolName {
    package static let longest = 32

    /// Returns whether a symbol may have this name.
    package static func isValid(_ name: String) -> Bool {
        1...longest ~= name.utf8.count && name.utf8.allSatisfy { isValid($0) && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") }
    }

    /// Returns whether a pattern may contain this character.
    static func isValid(_ byte: UInt8) -> Bool {
        0x21...0x7e ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
