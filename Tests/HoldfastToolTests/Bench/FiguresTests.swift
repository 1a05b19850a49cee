import Testing

@testable import HoldfastTool

@Suite struct FiguresTests {
    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-12_345, "-12,345")])
    func `large numbers are grouped`(number: Int, text: String) { #expect(number.grouped == text) }

    @Test(arguments: [(1, "1 µs"), (999, "999 µs"), (1000, "1 ms"), (1234, "1.23 ms"), (2_500_000, "2.5 s"), (60_000_000, "60 s or more")])
    func `latencies have a unit that fits`(microseconds: Int, text: String) { #expect(microseconds.latencyPhrase == text) }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (1536, "1.5 KiB"), (20 << 20, "20 MiB"), (3 << 30, "3 GiB"), (5 << 40, "5 TiB"),
    ])
    func `bytes have three figures`(bytes: Int, text: String) { #expect(bytes.bytesPhrase == text) }

    @Test func `a payload may be empty`() {
        #expect(PayloadSize(argument: "0")?.bytes == 0)
        #expect(PayloadSize(argument: "64K")?.bytes == 65_536)
        #expect(["", "-1", "x", "1T"].allSatisfy { PayloadSize(argument: $0) == nil })
    }
}
