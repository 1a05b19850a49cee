/// Foreign text made fit for a message: at most 64 characters, all printable ASCII.
func printable(_ text: some StringProtocol) -> String {
    let scalars = text.unicodeScalars
    return scalars.prefix(64).map { $0.escaped(asASCII: true) }.joined() + (scalars.dropFirst(64).isEmpty ? "" : "…")
}

/// ``printable(_:)`` in quotes.
func quoted(_ text: some StringProtocol) -> String { "`\(printable(text))`" }
