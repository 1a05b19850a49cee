import Testing

@testable import HoldfastTool

@Suite struct FormatAdviceTests {
    /// Advice where JSON has 1000 bytes, 400 of them left after compression, and takes 10 µs.
    private func advice(plain: Int, packed: Int, time: Int) throws -> [String] {
        func cost(_ format: String, _ plain: Int, _ packed: Int, _ time: Int) -> FormatCost {
            FormatCost(
                format: format, plain: plain, deflated: packed, deflatedWithTakeover: packed, encode: .microseconds(time),
                decode: .microseconds(time), deflate: .microseconds(50), deflateWithTakeover: .microseconds(50))
        }
        return MeasureReport([cost("JSON", 1000, 400, 10), cost("CBOR", plain, packed, time)], messages: 1).advice
    }

    @Test func `binary, if it saves bytes with and without compression`() throws {
        let advice = try advice(plain: 500, packed: 300, time: 5)
        #expect(advice[0] == "Binary: CBOR has 50 % fewer bytes than JSON and takes 2 times less processor time, without compression.")
        #expect(
            advice[1] == "permessage-deflate with context takeover reduces JSON to 40 %, for 50 µs more per message; CBOR then needs 30 %.")
    }

    @Test func `binary if you do not compress, if compression takes the difference away`() throws {
        let advice = try advice(plain: 500, packed: 390, time: 10)
        #expect(advice[0].hasPrefix("Binary if you do not compress: CBOR has 50 % fewer bytes"))
        #expect(advice[1].hasSuffix("CBOR then needs about as much."))
    }

    @Test func `binary if the processor counts, if that is all it saves`() throws {
        #expect(try advice(plain: 950, packed: 390, time: 4)[0].hasPrefix("Binary if processor time matters: CBOR has 5 % fewer bytes"))
    }

    @Test func `JSON, if binary saves nothing that counts`() throws {
        #expect(try advice(plain: 950, packed: 400, time: 8)[0].hasPrefix("JSON: CBOR has 5 % fewer bytes"))
        let advice = try advice(plain: 1100, packed: 500, time: 20)
        #expect(advice[0] == "JSON: CBOR has 10 % more bytes than JSON and takes 2 times more processor time, without compression.")
        #expect(advice[1].hasSuffix("CBOR then needs 50 %."))
    }

    @Test func `short messages are not compressed by default, and that is said`() {
        let cost = FormatCost(
            format: "JSON", plain: 255, deflated: 9, deflatedWithTakeover: 9, encode: .zero, decode: .zero, deflate: .zero,
            deflateWithTakeover: .zero)
        #expect(MeasureReport([cost, cost], messages: 1).advice.last?.contains("under 256 bytes") == true)
        #expect(MeasureReport([cost, cost], messages: 1).advice.count == 3)
    }

    @Test func `the binary format with the fewest bytes is what JSON is compared with`() {
        func cost(_ format: String, _ plain: Int) -> FormatCost {
            FormatCost(
                format: format, plain: plain, deflated: 1, deflatedWithTakeover: 1, encode: .zero, decode: .zero, deflate: .zero,
                deflateWithTakeover: .zero)
        }
        let advice = MeasureReport([cost("JSON", 1000), cost("MessagePack", 800), cost("CBOR", 700)], messages: 1).advice
        #expect(advice[0].contains("CBOR has 30 % fewer bytes"))
    }
}
