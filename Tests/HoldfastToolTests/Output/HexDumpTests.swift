import Testing

@testable import HoldfastTool

@Suite struct HexDumpTests {
    @Test func `sixteen bytes make a row and the last row is padded`() {
        #expect(
            HexDump.rows(of: Array("Hello, world! \u{1}".utf8) + [0xFF, 0x41]) == [
                "00000000  48 65 6c 6c 6f 2c 20 77  6f 72 6c 64 21 20 01 ff  |Hello, world! ..|",
                "00000010  41" + String(repeating: " ", count: 46) + "  |A|",
            ])
        #expect(HexDump.rows(of: []).isEmpty)
    }

    @Test func `a preview says when it is cut`() {
        #expect(HexDump.preview(of: [1, 2]) == "01 02")
        #expect(HexDump.preview(of: [1, 2, 3], limit: 2) == "01 02 …")
    }
}
