extension RouterNews {
    /// What is shown of a text in it that a client chose: on one line, and of 200 characters at most.
    package static func shown(_ text: String) -> String {
        // Cut by scalars first: one character may be as long as a message.
        let start = text.unicodeScalars.prefix(200)
        return WAMPWording.shown(String(start)) + (start.endIndex == text.unicodeScalars.endIndex ? "" : "…")
    }
}
