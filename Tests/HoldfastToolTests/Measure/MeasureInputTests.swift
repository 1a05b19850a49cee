import CodecCore
import Testing

@testable import HoldfastTool

@Suite struct MeasureInputTests {
    private func read(_ text: String, limit: Int = 1000) throws(MeasureInput.Problem) -> [Value] {
        try MeasureInput(Array(text.utf8), limit: limit).messages
    }

    private func problem(_ text: String, limit: Int = 1000) -> MeasureInput.Problem? {
        do throws(MeasureInput.Problem) {
            _ = try read(text, limit: limit)
            return nil
        } catch { return error }
    }

    @Test func `the elements of an array are the messages`() throws {
        #expect(try read(" [1,\n {\"a\": [2]}, \"x\"]\n") == [1, ["a": [2]], "x"])
    }

    @Test func `anything else by itself is one message`() throws {
        #expect(try read("{\n\"a\": 1\n}") == [["a": 1]])
        #expect(try read("7") == [7])
    }

    @Test func `or each line is one, arrays too`() throws {
        #expect(try read("[1,2]\r\n\n{\"a\":1}\n  \n7") == [[1, 2], ["a": 1], 7])
    }

    @Test func `a place is told by line and column, and by its offset`() {
        #expect(problem("[1,\n 2,\n  x]") == .malformed(.malformed, line: 3, column: 3, offset: 10))
        #expect(problem("{\"a\":1}\n{\"a\":}\n") == .malformed(.malformed, line: 2, column: 6, offset: 13))
        #expect(problem("{\"a\":1}}") == .malformed(.trailingBytes, line: 1, column: 8, offset: 7))
        #expect(problem("[1, 2") == .malformed(.truncated, line: 1, column: 6, offset: 5))
    }

    @Test func `lines are only looked at if the first is a value by itself`() {
        #expect(problem("{\"a\":\n1\n} x") == .malformed(.trailingBytes, line: 3, column: 3, offset: 10))
    }

    @Test(arguments: ["", " \n\t", "[]"]) func `nothing is no message`(text: String) {
        #expect(problem(text) == .empty)
    }

    @Test func `what is longer than allowed is not read`() {
        #expect(problem("[1,2]", limit: 4) == .tooLarge(limit: 4))
        #expect(problem("[1,2]", limit: 5) == nil)
        #expect("\(MeasureInput.Problem.tooLarge(limit: 64 << 20))" == "more than 64 MiB; see --max-size")
    }

    @Test func `values nested too deep are refused`() {
        let deep = String(repeating: "[", count: 100_000)
        guard case .malformed(.tooDeep, line: 1, _, _) = problem(deep, limit: .max) else {
            Issue.record("a hundred thousand levels were read")
            return
        }
    }
}
