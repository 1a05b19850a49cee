import CodecCore
import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct MeasurementTests {
    private static let messages: [Value] = (0..<50).map { ["symbol": "SAIL", "volume": .integer($0), "open": true] }

    @Test(arguments: MeasuredFormat.allCases) func `what a format writes it reads`(format: MeasuredFormat) throws {
        let value: Value = ["a": [1, -2, 1.5, true, nil], "漢": "\"text\"", "big": .unsigned(.max)]
        #expect(try format.decode(format.encode(value)) == value)
    }

    @Test func `bytes are those that go over the wire`() throws {
        // A clock that stands still finds nothing to repeat often.
        var ticks = 0
        let report = try Measurement(
            messages: Self.messages,
            stopwatch: Stopwatch {
                ticks += 1
                return .seconds(ticks)
            }
        ).report()
        #expect(report.messages == 50)
        #expect(report.rows.map(\.format) == ["JSON", "MessagePack", "CBOR"])
        let json = try Self.messages.reduce(0) { try $0 + $1.json().count }
        let messagePack = try Self.messages.reduce(0) { try $0 + $1.encoded(as: .messagePack).count }
        #expect(
            report.rows.map(\.plain.bytes) == [json, messagePack, try Self.messages.reduce(0) { try $0 + $1.encoded(as: .cbor).count }])
        for row in report.rows {
            #expect(row.deflatedWithTakeover.bytes < row.deflated.bytes)
            #expect(row.deflatedWithTakeover.bytes < row.plain.bytes / 2)
            // One run of each took one tick of the clock.
            #expect([row.encode, row.decode, row.deflate, row.deflateWithTakeover] == [20_000, 20_000, 20_000, 20_000])
        }
    }

    @Test func `messages are deflated as one connection does it`() throws {
        let payloads = [Array("over the hills".utf8), [], Array("over the hills".utf8)]
        let apart = try DeflatedMessages(payloads: payloads, takesContextOver: false).exchange()
        let together = try DeflatedMessages(payloads: payloads, takesContextOver: true).exchange()
        #expect(together < apart)
        #expect(apart > 14)
    }
}
