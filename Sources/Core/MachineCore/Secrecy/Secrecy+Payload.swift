/// What names announce in messages.
extension Secrecy {
    /// Where secrets lie in a text, by the names that announce them: in JSON, in forms, in lines such as `Authorization: Bearer …`, in XML.
    ///
    /// A value in quotes ends with them. A value that is an object, an array or an element is hidden with all that follows. Any other ends
    /// with its line, and before that where what holds it ends: at a `&` in a form, at a quote or a brace that closes. A text that was cut
    /// is hidden from a value without its end on. In doubt, more is hidden.
    ///
    /// - Parameter bytes: UTF-8, or the beginning of it.
    package static func announced(inText bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var (place, prefix) = (0, 0..<0)
        while let name = nextName(in: bytes, from: place) {
            defer { prefix = name }
            place = name.upperBound
            guard announcesSecret(name, in: bytes) else { continue }
            if isOfElement(name, after: prefix, in: bytes) { return found + (place < bytes.count ? [place..<bytes.count] : []) }
            guard let (start, separator) = startOfValue(in: bytes, after: name) else { continue }
            let end = endOfValue(in: bytes, from: start, separator)
            if start < end { found.append(start..<end) }
            place = max(end, place)
        }
        return found
    }

    /// Where secrets may lie in a message of bytes: behind the first name that announces one.
    package static func announced(inBinary bytes: [UInt8]) -> [Range<Int>] {
        var place = 0
        while let name = nextName(in: bytes, from: place) {
            place = name.upperBound
            if let end = endOfSecretName(within: name, in: bytes) { return end < bytes.count ? [end..<bytes.count] : [] }
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

    // MARK: - Names

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

    private static func announcesSecret(_ name: Range<Int>, in bytes: [UInt8]) -> Bool {
        let bare = withoutEscape(name, in: bytes)
        return isSecret(bytes[name]) || (bare != name && isSecret(bytes[bare]))
    }

    /// Where a name ends that announces a secret, within what may be more than a name: lengths and values beside it may be letters, too.
    private static func endOfSecretName(within letters: Range<Int>, in bytes: [UInt8]) -> Int? {
        let named = announcesSecret(letters, in: bytes) ? endOfSecretWord(in: bytes[letters]) ?? letters.upperBound : nil
        // CBOR, MessagePack and Protocol Buffers have the length of a short name in the low bits of the byte before it.
        let counted = letters.first { start in
            let count = start > 0 ? Int(bytes[start - 1] & 0x1F) : 0
            return 3...12 ~= count && start + count <= letters.upperBound && isSecret(bytes[start..<(start + count)])
        }
        return [named, counted.map { $0 + Int(bytes[$0 - 1] & 0x1F) }].compactMap(\.self).min()
    }

    /// A name without what belongs to an escape before it, such as the `n` of `\npin` or the `5B` of `%5Bpin`.
    private static func withoutEscape(_ name: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        guard name.lowerBound > 0 else { return name }
        let (_, end) = character(in: bytes, at: name.lowerBound - 1)
        let start = end == name.lowerBound && bytes[end - 1] == backslash ? end + 1 : end
        return min(start, name.upperBound)..<name.upperBound
    }

    /// Whether an element of XML begins with a name, with or without the prefix of a namespace.
    private static func isOfElement(_ name: Range<Int>, after prefix: Range<Int>, in bytes: [UInt8]) -> Bool {
        func follows(_ range: Range<Int>, _ byte: Unicode.Scalar) -> Bool {
            range.lowerBound > 0 && bytes[range.lowerBound - 1] == UInt8(ascii: byte)
        }
        return follows(name, "<") || (follows(name, ":") && prefix.upperBound == name.lowerBound - 1 && follows(prefix, "<"))
    }

    /// The character at a place, and where the next is: `%22` and `\u0022` are read as what they stand for, also if escaped again.
    private static func character(in bytes: [UInt8], at place: Int) -> (byte: UInt8, end: Int) {
        func number(_ digits: Range<Int>) -> UInt8? {
            guard digits.upperBound <= bytes.count, let high = Hexadecimal.value(of: bytes[digits.lowerBound]),
                let low = Hexadecimal.value(of: bytes[digits.lowerBound + 1])
            else { return nil }
            return high << 4 | low
        }
        var end = place + 1
        if bytes[place] == UInt8(ascii: "%") {
            while number(end..<(end + 2)) == UInt8(ascii: "%") { end += 2 }
            return number(end..<(end + 2)).map { ($0, end + 2) } ?? (bytes[place], place + 1)
        }
        if bytes[place] == backslash, end < bytes.count, bytes[end] == UInt8(ascii: "u"), number((end + 1)..<(end + 3)) == 0 {
            return number((end + 3)..<(end + 5)).map { ($0, end + 5) } ?? (bytes[place], end)
        }
        return (bytes[place], end)
    }

    // MARK: - Values

    /// Where the value begins that a name announces, and behind what, such as a colon or an equals sign; nil: it announces none.
    private static func startOfValue(in bytes: [UInt8], after name: Range<Int>) -> (place: Int, separator: UInt8)? {
        var (place, separator): (Int, UInt8?) = (name.upperBound, nil)
        // `Bearer …`, whatever holds it.
        if bytes[name].elementsEqual("Bearer".utf8) || bytes[name].elementsEqual("bearer".utf8),
            place < bytes.count, bytes[place] == UInt8(ascii: " ")
        {
            separator = bytes[place]
        }
        while place < bytes.count {
            let (byte, end) = character(in: bytes, at: place)
            if separators.contains(byte) {
                separator = separator ?? byte
            } else if !isBlank(byte), separator != nil || !closesName.contains(byte) {
                break
            }
            place = end
        }
        return separator.map { (place, $0) }
    }

    private static func endOfValue(in bytes: [UInt8], from start: Int, _ separator: UInt8) -> Int {
        let quote = bytes[start...].firstIndex { $0 != backslash } ?? bytes.count
        guard quote < bytes.count else { return bytes.count }
        if isQuote(bytes[quote]) { return endOfQuoted(in: bytes, from: quote, behind: quote - start) }
        if quote > start { return bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count }
        return opens.contains(bytes[start]) ? bytes.count : endOfPlain(in: bytes, from: start, separator)
    }

    /// Where a value in quotes ends: behind the next of them that stands behind as many backslashes, for those of others are escaped.
    ///
    /// With backslashes it is in JSON that is itself in a string; each pair more is one that the value ends with. A quote in the midst of
    /// words is none that ends it.
    private static func endOfQuoted(in bytes: [UInt8], from quote: Int, behind escapes: Int) -> Int {
        var (place, count) = (quote + 1, 0)
        while place < bytes.count {
            if bytes[place] == bytes[quote], count % (2 * escapes + 2) == escapes {
                guard escapes == 0, place + 1 < bytes.count, bytes[place + 1] == bytes[quote] else {
                    if isClosed(bytes, at: place + 1) { return place + 1 }
                    (place, count) = (place + 1, 0)
                    continue
                }
                // Two of them stand for one.
                place += 1
            }
            count = bytes[place] == backslash ? count + 1 : 0
            place += 1
        }
        return bytes.count
    }

    /// Where a value without quotes ends; what is in quotes within it belongs to it.
    private static func endOfPlain(in bytes: [UInt8], from start: Int, _ separator: UInt8) -> Int {
        var (place, escapes, before) = (start, 0, separator)
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case 0x0A, 0x0D:
                let next = byte == 0x0D && place + 1 < bytes.count && bytes[place + 1] == 0x0A ? place + 2 : place + 1
                // A line that begins with a blank goes on with the one before.
                guard next < bytes.count, bytes[next] == UInt8(ascii: " ") || bytes[next] == UInt8(ascii: "\t") else { return place }
            case UInt8(ascii: "&") where separator == UInt8(ascii: "="): return place
            case UInt8(ascii: "}") where isClosed(bytes, at: place + 1): return place
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                if isBlank(before) || separators.contains(before) || beforeQuotes.contains(before) {
                    place = endOfQuoted(in: bytes, from: place, behind: escapes) - 1
                } else if isClosed(bytes, at: place + 1) {
                    return place - escapes
                }
            default: break
            }
            escapes = byte == backslash ? escapes + 1 : 0
            if byte != backslash { before = byte }
            place += 1
        }
        return bytes.count
    }

    /// Whether what stands at a place can follow the end of a value.
    private static func isClosed(_ bytes: [UInt8], at place: Int) -> Bool {
        place >= bytes.count || isBlank(bytes[place]) || isQuote(bytes[place]) || closers.contains(bytes[place])
    }

    private static let separators = Set(":=>".utf8)
    /// What may stand between a name and its separator: quotes, their escapes, and what holds it in a form such as `user[pin]=1`.
    private static let closesName = Set("\"'\\])+".utf8)
    private static let opens = Set("{[(".utf8)
    private static let beforeQuotes = Set(",;([{".utf8)
    private static let closers = Set(",&)]}<>/\\".utf8)
    private static let backslash = UInt8(ascii: "\\")

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) }
}
