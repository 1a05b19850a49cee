import Testing

@testable import HoldfastTerminal

@Suite struct LineSplitterTests {
    @Test func `lines come out the same at every split point`() {
        let bytes = Array("one\n\ntwo é\r\nlast".utf8)
        for split in 0...bytes.count {
            var splitter = LineSplitter()
            let lines = splitter.split(Array(bytes[..<split])) + splitter.split(Array(bytes[split...]))
            #expect(lines == [.text("one"), .text(""), .text("two é")])
            #expect(splitter.finish() == .text("last"))
            #expect(splitter.finish() == nil)
        }
    }

    @Test func `a line that is not UTF-8 is named by its number`() {
        var splitter = LineSplitter()
        #expect(splitter.split([0x61, 0x0A, 0xFF, 0x0A, 0xC3]) == [.text("a"), .invalid(number: 2)])
        #expect(splitter.finish() == .invalid(number: 3))
    }
}
