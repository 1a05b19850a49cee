import QuotesCore
import Testing

@Suite struct SymbolPatternTests {
    @Test(arguments: [
        ("SAIL", "SAIL", true), ("SAIL", "SAI", false), ("SAIL", "SAILS", false), ("SAIL", "sail", false),
        ("*", "SAIL", true), ("BANK*", "BANK.K3", true), ("BANK*", "BANK", true), ("BANK*", "BAN", false),
        ("*K3", "BANK.K3", true), ("*K3", "BANK.K33", false), ("B*K*3", "BANK.K3", true), ("B*X*3", "BANK.K3", false),
        ("?AIL", "SAIL", true), ("?AIL", "AIL", false), ("SAIL?", "SAIL", false), ("S?*", "S", false), ("S?*", "SA", true),
        ("**", "A", true), ("*AB", "AAB", true), ("*AAB*", "AAAAB", true), ("A*A", "A", false),
    ])
    func `a star matches any characters, and a question mark matches one`(pattern: String, symbol: String, matches: Bool) throws {
        #expect(try #require(SymbolPattern(pattern)).matches(symbol) == matches)
    }

    @Test(arguments: ["", String(repeating: "A", count: 33), "A B", "\u{e9}", "a\"", "a\\", "a\n"])
    func `a text that no symbol can match is no pattern`(text: String) { #expect(SymbolPattern(text) == nil) }

    @Test func `matching a pattern of stars takes at most its length times the symbol's`() throws {
        let pattern = try #require(SymbolPattern(String(repeating: "*A", count: 15) + "B"))
        // A search that returns to every star would never end in practice.
        #expect(!pattern.matches(String(repeating: "A", count: 10_000)))
        #expect(pattern.description == String(repeating: "*A", count: 15) + "B")
    }
}
