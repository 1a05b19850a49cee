import Testing

@testable import HoldfastTool

@Suite struct FiguresTests {
    @Test(arguments: [(1, "1 µs"), (999, "999 µs"), (1000, "1 ms"), (1234, "1.23 ms"), (2_500_000, "2.5 s"), (60_000_000, "60 s or more")])
    func `latencies have a unit that fits`(microseconds: Int, text: String) { #expect(microseconds.latencyPhrase == text) }

    @Test func `a payload may be empty`() {
        #expect(PayloadSize(argument: "0")?.bytes == 0)
        #expect(PayloadSize(argument: "64K")?.bytes == 65_536)
        #expect(["", "-1", "x", "1T"].allSatisfy { PayloadSize(argument: $0) == nil })
    }
}
