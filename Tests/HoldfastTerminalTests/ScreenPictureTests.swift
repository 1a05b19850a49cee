import Testing

@testable import HoldfastTerminal

@Suite struct ScreenPictureTests {
    @Test func `a picture draws over the one before and erases what is left of it`() {
        #expect(
            ScreenPicture.drawing(["a", "b"]) == "\u{1B}[?2026h\u{1B}[?25l\u{1B}[Ha\u{1B}[K\r\nb\u{1B}[K\u{1B}[J\u{1B}[?2026l")
    }

    @Test func `the cursor is seen on the last line, in its column`() {
        #expect(ScreenPicture.drawing(["a", "b"], cursor: 3).hasSuffix("\u{1B}[J\u{1B}[2;4H\u{1B}[?25h\u{1B}[?2026l"))
    }
}
