import Testing

@testable import HoldfastTerminal

@Suite struct PhraseTests {
    @Test(arguments: [
        (Duration.microseconds(420), "0.42 ms"), (.milliseconds(12), "12 ms"), (.microseconds(12345), "12.3 ms"),
        (.milliseconds(1250), "1.25 s"), (.zero, "0 ms"), (.seconds(90), "90 s"), (.milliseconds(345), "345 ms"),
    ])
    func `durations have three figures and a unit`(duration: Duration, phrase: String) {
        #expect(duration.phrase == phrase)
    }

    @Test func `timeline stamps line up`() {
        #expect(Duration.milliseconds(1042).timelineColumn == " 1.042 s")
        #expect(Duration.seconds(12).timelineColumn == "12.000 s")
    }

    @Test func `counts take their noun`() {
        #expect(1.counted("byte") == "1 byte")
        #expect(0.counted("byte") == "0 bytes")
    }

    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-12_345, "-12,345")])
    func `large numbers are grouped`(number: Int, text: String) { #expect(number.grouped == text) }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "0.98 KiB"), (1536, "1.5 KiB"), (20 << 20, "20 MiB"), (3 << 30, "3 GiB"), (5 << 40, "5 TiB"),
    ])
    func `bytes have three figures`(bytes: Int, text: String) { #expect(bytes.bytesPhrase == text) }
}
