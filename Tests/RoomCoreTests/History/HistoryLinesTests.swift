import Foundation
import RoomHistory
import Testing

/// Histories as lines of JSON.
@Suite struct HistoryLinesTests {
    private var tale: [HistoryEvent] { HistoryTale.good.events }
    private var data: Data { tale.reduce(into: Data()) { $0 += HistoryLines.line(of: $1) } }

    @Test func `events are written and read back`() throws {
        #expect(try HistoryLines.events(in: data) == tale)
    }

    @Test func `a line has the fields that the event has`() {
        let line = HistoryLines.line(of: .acked("m1", epoch: "e1", seq: 7, room: "a/b", who: "ann", at: 12))
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"at":12,"epoch":"e1","id":"m1","room":"a/b","seq":7,"what":"acked","who":"ann"}"# + "\n")
    }

    @Test func `half a line at the end is ignored`() throws {
        #expect(try HistoryLines.events(in: data.dropLast()) == tale.dropLast())
        #expect(try HistoryLines.events(in: data.dropLast(9)) == tale.dropLast())
    }

    @Test func `half a line is ignored only where a program was killed`() throws {
        let started = HistoryLines.line(of: HistoryEvent(.started, who: "ann"))
        let newline = Data("\n".utf8)
        #expect(try HistoryLines.events(in: data.dropLast(9) + newline + started).map(\.what).suffix(2) == [.present, .started])
        #expect(throws: DecodingError.self) { try HistoryLines.events(in: data.dropLast(9) + newline + data) }
        #expect(throws: DecodingError.self) { try HistoryLines.events(in: data.dropLast(9) + newline) }
    }

    @Test func `a digest differs for different bytes`() {
        // The test vectors of FNV-1a.
        #expect(HistoryDigest.of("".utf8) == "cbf29ce484222325")
        #expect(HistoryDigest.of("a".utf8) == "af63dc4c8601ec8c")
        #expect(HistoryDigest.of("foobar".utf8) == "85944171f73967e8")
    }
}
