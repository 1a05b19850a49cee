import Foundation
import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct MeasureReportTests {
    private static let costs = [
        FormatCost(
            format: "JSON", plain: 40_000, deflated: 30_000, deflatedWithTakeover: 10_000, encode: .microseconds(200),
            decode: .microseconds(300), deflate: .milliseconds(3), deflateWithTakeover: .milliseconds(2)),
        FormatCost(
            format: "MessagePack", plain: 30_000, deflated: 26_050, deflatedWithTakeover: 9500, encode: .microseconds(50),
            decode: .microseconds(75), deflate: .milliseconds(4), deflateWithTakeover: .microseconds(1234)),
    ]

    @Test func `text for people`() {
        let lines = MeasureReport(Self.costs, messages: 100).lines(style: .plain)
        #expect(
            lines == [
                "100 messages",
                "",
                "bytes/message                plain           deflate     with takeover",
                "JSON                  400 B  100 %      300 B   75 %      100 B   25 %",
                "MessagePack           300 B   75 %      261 B   65 %       95 B   24 %",
                "",
                "CPU/message                 encode            decode   deflate+inflate     with takeover",
                "JSON                          2 µs              3 µs             30 µs             20 µs",
                "MessagePack                 0.5 µs           0.75 µs             40 µs           12.3 µs",
                "for values of unknown types; known types take less",
                "",
                "JSON         plain          ████████████████████████████████████████ 400 B",
                "             deflate        ██████████████████████████████ 300 B",
                "             with takeover  ██████████ 100 B",
                "MessagePack  plain          ██████████████████████████████ 300 B",
                "             deflate        ██████████████████████████ 261 B",
                "             with takeover  █████████▌ 95 B",
                "",
                "Binary if you do not compress: MessagePack has 25 % fewer bytes than JSON and takes 4 times less processor time, without compression.",
                "permessage-deflate with context takeover reduces JSON to 25 %, for 20 µs more per message; MessagePack then needs about as much.",
            ])
    }

    @Test func `JSON for programs`() throws {
        let report = MeasureReport(Self.costs, messages: 100)
        let read = try JSONDecoder().decode(MeasureReport.self, from: Data(report.json.utf8))
        #expect(read == report)
        #expect(read.rows[1].plain.bytes == 30_000)
        #expect(read.rows[1].plain.bytesPerMessage == 300)
        #expect(read.rows[1].plain.ratio == 0.75)
        #expect(read.rows[1].deflateWithTakeover == 12.34)
    }

    @Test func `one message is called so, and bars are coloured where colours are`() {
        let lines = MeasureReport(Self.costs, messages: 1).lines(style: .coloured)
        #expect(lines[0].contains("1 message\u{1B}"))
        #expect(lines.contains { $0.contains("\u{1B}[32m█") })
    }

    @Test func `messages without a byte have no ratio to fail at`() throws {
        let nothing = FormatCost(
            format: "JSON", plain: 0, deflated: 0, deflatedWithTakeover: 0, encode: .zero, decode: .zero, deflate: .zero,
            deflateWithTakeover: .zero)
        let report = MeasureReport([nothing, nothing], messages: 0)
        #expect(report.rows[0].plain.ratio == 1)
        #expect(!report.lines(style: .plain).isEmpty)
    }
}
