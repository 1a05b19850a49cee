/// Says phrases in the language of a translation.
struct Words: Sendable {
    /// The text for a key; nil: there is none.
    let translation: @Sendable (_ key: String) -> String?

    /// In English.
    static let english = Words { _ in nil }

    /// The text of a phrase, with these put in for `%1$@`, `%2$@` and so on.
    func callAsFunction(_ phrase: Phrase, _ arguments: String...) -> String {
        Self.fill(translation(phrase.rawValue) ?? phrase.english, arguments)
    }

    /// In one pass: what is put in is text, whatever it looks like.
    static func fill(_ text: String, _ arguments: [String]) -> String {
        var (filled, rest) = ("", text[...])
        while let percent = rest.firstIndex(of: "%") {
            filled += rest[..<percent]
            let place = rest[percent...].prefix(4)
            let number = place.dropFirst().first?.wholeNumberValue
            if place.count == 4, place.hasSuffix("$@"), let number, arguments.indices ~= number - 1 {
                filled += arguments[number - 1]
                rest = rest[place.endIndex...]
            } else {
                filled += "%"
                rest = rest[rest.index(after: percent)...]
            }
        }
        return filled + rest
    }

    /// How a connection is.
    func label(_ status: ConnectionStatus) -> String {
        switch status {
        case .connecting: self(.connecting)
        case .connected: self(.connected)
        case .reconnecting(let seconds): self(.reconnectingIn, "\(seconds)")
        case .offline: self(.offline)
        case .closed(let isFailure): self(isFailure ? .failed : .closed)
        }
    }
}
