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
    func `a star is any run of characters, a question mark is one`(pattern: String, symbol: String, matches: Bool) throws {
        #expect(try #require(SymbolPattern(pattern)).matches(symbol) == matches)
    }

    @Test(arguments: ["", String(repeating: "A", count: 33), "A B", "\u{e9}", "a\"", "a\\", "a\n"])
    func `what no symbol is called is no pattern`(text: String) { #expect(SymbolPattern(text) == nil) }

    @Test func `a pattern of stars takes no longer than its length times that of the symbol`() throws {
        let pattern = try #require(SymbolPattern(String(repeating: "*A", count: 15) + "B"))
        // With a search that went back to every star this would take longer than the universe is old.
        #expect(!pattern.matches(String(repeating: "A", count: 10_000)))
        #expect(pattern.description == String(repeating: "*A", count: 15) + "B")
    }
}
