import Testing

@testable import HoldfastTerminal

@Suite struct StyleTests {
    @Test(arguments: [
        (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": ""], true),
        (true, ["TERM": "dumb"], false),
    ])
    func `colours need a terminal and the owner's consent`(isTerminal: Bool, environment: [String: String], coloured: Bool) {
        #expect(Style(isTerminal: isTerminal, environment: environment).isColoured == coloured)
    }

    @Test func `plain text is not painted`() {
        #expect(Style.plain.paint("a", .bad) == "a")
        #expect(Style.coloured.paint("a", .bad) == "\u{1B}[31ma\u{1B}[0m")
        #expect(Style.coloured.paint("", .bad) == "")
    }
}
