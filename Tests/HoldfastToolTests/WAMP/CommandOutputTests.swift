import CodecCore
import Testing
import WAMPCore

@testable import HoldfastTool

@Suite struct CommandOutputTests {
    @Test(arguments: [
        ("", WAMPArguments.none), (" \n", .none), ("7\n", WAMPArguments([7])), ("hello there\n", WAMPArguments(["hello there"])),
        ("{\"a\":\n1}\n", WAMPArguments([["a": 1]])), ("two\nlines\n", WAMPArguments(["two\nlines"])),
    ])
    func `what a command prints is one result, JSON or text`(printed: String, result: WAMPArguments) {
        var output = CommandOutput(isInParts: false)
        #expect(output.take(Array(printed.utf8)).isEmpty)
        #expect(output.result == result)
    }

    @Test(arguments: 1...12) func `each line is a part, however it comes, and the last one the result`(length: Int) {
        var output = CommandOutput(isInParts: true)
        var parts: [WAMPArguments] = []
        let printed = Array("1\ntwo\n\n[3]\n".utf8)
        for start in stride(from: 0, to: printed.count, by: length) {
            parts += output.take(Array(printed[start..<min(start + length, printed.count)]))
        }
        #expect(parts == [WAMPArguments([1]), WAMPArguments(["two"]), .none])
        #expect(output.result == WAMPArguments([[3]]))
    }

    @Test func `a last line without an end is the result`() {
        var output = CommandOutput(isInParts: true)
        #expect(output.take(Array("1\n2".utf8)) == [WAMPArguments([1])])
        #expect(output.result == WAMPArguments([2]))
    }
}
