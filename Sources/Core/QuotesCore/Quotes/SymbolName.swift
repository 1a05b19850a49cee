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
