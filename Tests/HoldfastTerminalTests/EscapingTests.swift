import RoomCore
import Testing

@testable import HoldfastTerminal

@Suite struct EscapingTests {
    @Test(arguments: [
        ("plain é 日\t", "plain é 日\t"), ("\u{1B}[2J", #"\u{1B}[2J"#), ("\u{7}", #"\u{07}"#), ("a\nb\r\nc", "a\n  b\n  c"),
        ("a\rb\r\rc\r", #"a\u{0D}b\u{0D}\u{0D}c\u{0D}"#), ("\u{9B}31m", #"\u{9B}31m"#), ("\u{202E}x", #"\u{202E}x"#),
        ("\u{7F}\u{2028}", #"\u{7F}\u{2028}"#), ("e\u{301}👩‍👧", "e\u{301}👩‍👧"),
    ])
    func `text of a peer cannot drive the terminal`(text: String, shown: String) {
        #expect(text.escapedForTerminal() == shown)
    }

    @Test(arguments: [
        ("ann", "ann"), ("a\u{200B}nn", #"a\u{200B}nn"#), ("\u{202E}nna", #"\u{202E}nna"#), ("a\u{E0041}", #"a\u{E0041}"#), ("日é", "日é"),
        ("a\nb\u{1B}", #"a\u{0A}b\u{1B}"#),
    ])
    func `two names that look the same are the same`(name: String, shown: String) { #expect(name.escapedAsName == shown) }

    @Test func `a reason stays on one line`() { #expect("a\nb\r\n\u{1B}".escapedOnOneLine == #"a\nb\r\n\u{1B}"#) }
}
