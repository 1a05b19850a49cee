/// What names announce in messages.
extension Secrecy {
    /// Where secrets lie in a text, by the names that announce them: in JSON, in forms, in lines such as `Authorization: Bearer …`.
    ///
    /// A value in quotes ends with them. A value that is an object or an array is hidden with all that follows. Any other ends with its
    /// line, at a `&`, a quote or a brace. A text that was cut is hidden from a value without its end on.
    ///
    /// - Parameter bytes: UTF-8, or the beginning of it.
    package static func announced(inText bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var place = 0
        while let name = nextName(in: bytes, from: place) {
            place = name.upperBound
            guard isSecret(bytes[name]), let start = startOfValue(in: bytes, after: name.upperBound) else { continue }
            let value = start..<endOfValue(in: bytes, from: start)
            if !value.isEmpty { found.append(value) }
            place = max(value.upperBound, place)
        }
        return found
    }

    /// Where secrets may lie in a message of bytes: behind the first name that announces one.
    package static func announced(inBinary bytes: [UInt8]) -> [Range<Int>] {
        var place = 0
        while let name = nextName(in: bytes, from: place) {
            place = name.upperBound
            if isSecret(bytes[name]) { return place < bytes.count ? [place..<bytes.count] : [] }
        }
        return []
    }

    /// A text in which what names announce is hidden.
    package static func hidingAnnounced(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: replacing(announced(inText: bytes), in: bytes), as: UTF8.self)
    }

    /// The bytes with ``hidden`` in place of what lies in the ranges, which may overlap.
    package static func replacing(_ ranges: [Range<Int>], in bytes: [UInt8]) -> [UInt8] {
        var (shown, place): ([UInt8], Int) = ([], 0)
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.upperBound > place {
            if range.lowerBound > place || place == 0 { shown += bytes[place..<max(range.lowerBound, place)] + hidden.utf8 }
            place = range.upperBound
        }
        return shown + bytes[place...]
    }

    // MARK: - Reading

    private static func nextName(in bytes: [UInt8], from place: Int) -> Range<Int>? {
        guard let start = bytes[place...].firstIndex(where: isOfName) else { return nil }
        return start..<(bytes[start...].firstIndex { !isOfName($0) } ?? bytes.endIndex)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Where the value begins that a name announces with a colon or an equals sign; nil: it announces none.
    private static func startOfValue(in bytes: [UInt8], after name: Int) -> Int? {
        var place = name
        // A name in quotes, or in JSON that is itself in a string.
        while place < bytes.count, isQuote(bytes[place]) || bytes[place] == backslash { place += 1 }
        place = skippingBlanks(bytes, place)
        guard place < bytes.count, bytes[place] == UInt8(ascii: ":") || bytes[place] == UInt8(ascii: "=") else { return nil }
        return skippingBlanks(bytes, place + 1)
    }

    private static func endOfValue(in bytes: [UInt8], from start: Int) -> Int {
        guard start < bytes.count else { return bytes.count }
        if isQuote(bytes[start]) {
            var place = start + 1
            while place < bytes.count, bytes[place] != bytes[start] { place += bytes[place] == backslash ? 2 : 1 }
            return min(place + 1, bytes.count)
        }
        if bytes[start] == backslash, start + 1 < bytes.count, isQuote(bytes[start + 1]) {
            let quote = bytes[start + 1]
            var place = start + 2
            while place + 1 < bytes.count, bytes[place] != backslash || bytes[place + 1] != quote { place += 1 }
            return min(place + 2, bytes.count)
        }
        if bytes[start] == UInt8(ascii: "{") || bytes[start] == UInt8(ascii: "[") { return bytes.count }
        return bytes[start...].firstIndex { ends.contains($0) } ?? bytes.count
    }

    private static let ends = Set("\r\n&\"'}\\".utf8)
    private static let backslash = UInt8(ascii: "\\")

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func skippingBlanks(_ bytes: [UInt8], _ place: Int) -> Int {
        bytes[min(place, bytes.count)...].firstIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } ?? bytes.count
    }
}
