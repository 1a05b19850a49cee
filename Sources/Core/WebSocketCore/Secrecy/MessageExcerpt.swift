import MachineCore

/// The beginning of a message for display: one line of limited length, without secrets.
package struct MessageExcerpt: Sendable {
    /// The beginning: text in quotes with escaped control characters, or bytes in hexadecimal.
    ///
    /// Ends with ` …` if there is more.
    package let start: String

    /// How many bytes beyond the end are searched for a secret that begins before it.
    private static let margin = 256

    /// Creates the beginning of a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - limit: The maximum number of bytes shown.
    ///   - secrets: Secrets to hide anywhere, in addition to values with a secret name.
    package init(of message: Message, limit: Int, hiding secrets: KnownSecrets = KnownSecrets()) {
        let length = limit + max(Self.margin, secrets.longest)
        switch message {
        case .text(let text): self.init(.text, Array(text.utf8.prefix(length)), limit, text.utf8.count, secrets)
        case .binary(let bytes): self.init(.binary, Array(bytes.prefix(length)), limit, bytes.count, secrets)
        }
    }

    private init(_ kind: MessageKind, _ bytes: [UInt8], _ limit: Int, _ count: Int, _ secrets: KnownSecrets) {
        let named = kind == .text ? Secrecy.announced(inText: bytes) : Secrecy.announced(inBinary: bytes)
        let ranges = (named + secrets.ranges(in: bytes)).sorted { $0.lowerBound < $1.lowerBound }
        let end = kind == .text ? Self.border(bytes, limit) : min(limit, bytes.count)
        var (pieces, place): ([String], Int) = ([], 0)
        for range in ranges where range.upperBound > place && range.lowerBound < end {
            if range.lowerBound > place { pieces.append(Self.shown(kind, bytes[place..<range.lowerBound])) }
            // One marker for ranges that overlap or touch.
            if pieces.last != Secrecy.hidden { pieces.append(Secrecy.hidden) }
            place = range.upperBound
        }
        if place < end { pieces.append(Self.shown(kind, bytes[place..<end])) }
        let words = kind == .text ? "\"\(pieces.joined())\"" : pieces.joined(separator: " ")
        start = words + (count > max(place, end) ? " …" : "")
    }

    /// Returns the last character boundary up to the limit.
    private static func border(_ bytes: [UInt8], _ limit: Int) -> Int {
        guard bytes.count > limit else { return bytes.count }
        var end = limit
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }

    private static func shown(_ kind: MessageKind, _ bytes: ArraySlice<UInt8>) -> String {
        guard kind == .binary else {
            var words = ""
            for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars { words += scalar.escapedInLine }
            return words
        }
        return Hexadecimal.text(bytes, separator: " ")
    }
}

extension Unicode.Scalar {
    /// The scalar, escaped if it could end the text or the line, or control a terminal.
    fileprivate var escapedInLine: String {
        switch self {
        case "\"", "\\": "\\\(self)"
        default:
            properties.generalCategory == .control || properties.generalCategory == .format ? "\\u{\(String(value, radix: 16))}" : "\(self)"
        }
    }
}
