import CodecCore
import MachineCore

/// Reads the JSON of a frame where it lies, strictly as RFC 8259 has it.
@safe struct FrameReader {
    /// How deep values may lie in one another; a receiver's own reader has to bear a payload too.
    static let maximumDepth = 64

    private let bytes: UnsafeRawBufferPointer
    /// Where the bytes end.
    private let end: Int
    /// Where the next value begins, or the space before it.
    var position = 0
    /// Whether surrogates that are no pair, and numbers beyond a Double, are refused: others' parsers lose a whole frame for them.
    ///
    /// What a hub says is not read so: its log may hold some from before they were refused.
    var isStrict = false

    /// Reads these bytes, which must live as long as the reader is used.
    @unsafe init(_ bytes: UnsafeRawBufferPointer) { unsafe (self.bytes, end) = (bytes, bytes.count) }

    /// The next byte, which stays the next.
    private func peek() -> UInt8? { position < end ? unsafe bytes[position] : nil }

    /// Bytes that were read.
    @unsafe func slice(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    /// What is wrong with the next byte, or that there is none.
    func unexpected(_ field: StaticString = "") -> FrameError {
        FrameError(position < end ? .malformed : .truncated, field: field, at: position)
    }

    // MARK: - Containers

    /// How far a reader is in an object or an array.
    struct Container {
        fileprivate var isFresh = true
    }

    /// Goes into the object that comes next.
    mutating func object(_ field: StaticString = "") throws(FrameError) -> Container { try open(UInt8(ascii: "{"), field) }

    /// Goes into the array that comes next.
    mutating func array(_ field: StaticString) throws(FrameError) -> Container { try open(UInt8(ascii: "["), field) }

    private mutating func open(_ bracket: UInt8, _ field: StaticString) throws(FrameError) -> Container {
        guard skipSpace(to: bracket) else { throw wrongKind(field) }
        return Container()
    }

    /// Takes the next key of an object; nil at its end.
    mutating func key(of object: inout Container) throws(FrameError) -> FrameWord? {
        if try isAtEnd(of: &object, UInt8(ascii: "}")) { return nil }
        let word = try word("")
        guard skipSpace(to: UInt8(ascii: ":")) else { throw unexpected() }
        return word
    }

    /// Whether another element follows; after the last one the array is left.
    mutating func hasElement(of array: inout Container) throws(FrameError) -> Bool { try !isAtEnd(of: &array, UInt8(ascii: "]")) }

    private mutating func isAtEnd(of container: inout Container, _ bracket: UInt8) throws(FrameError) -> Bool {
        if container.isFresh {
            container.isFresh = false
            return skipSpace(to: bracket)
        }
        if skipSpace(to: UInt8(ascii: ",")) { return false }
        guard skipSpace(to: bracket) else { throw unexpected() }
        return true
    }

    /// Makes sure that nothing follows.
    mutating func finish() throws(FrameError) {
        skipSpace()
        if position < end { throw FrameError(.trailingBytes, at: position) }
    }

    // MARK: - Scalars

    /// Takes a whole number that the protocol can say.
    mutating func number(_ field: StaticString, from lowest: Int64 = 0) throws(FrameError) -> Int64 {
        skipSpace()
        let start = position
        let isNegative = peek() == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let digits = position
        var number: Int64 = 0
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            // It stays far from overflow, for beyond the range the reading ends.
            number = number &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
            guard number < RoomsLimits.number else { throw FrameError(.outOfRange, field: field, at: start) }
            position += 1
        }
        guard position > digits else {
            position = start
            throw wrongKind(field)
        }
        // RFC 8259 §6: no leading zeros.
        guard unsafe position == digits + 1 || bytes[digits] != UInt8(ascii: "0") else {
            throw FrameError(.malformed, field: field, at: start)
        }
        if let next = peek(), next == UInt8(ascii: ".") || next | 0x20 == UInt8(ascii: "e") {
            throw FrameError(.wrongKind, field: field, at: start)
        }
        if isNegative { number = -number }
        guard number >= lowest else { throw FrameError(.outOfRange, field: field, at: start) }
        return number
    }

    mutating func flag(_ field: StaticString) throws(FrameError) -> Bool {
        skipSpace()
        switch peek() {
        case UInt8(ascii: "t"): try take("true")
        case UInt8(ascii: "f"):
            try take("false")
            return false
        default: throw wrongKind(field)
        }
        return true
    }

    /// Takes a text of at most so many bytes; no text of a frame is longer than the frame.
    mutating func text(_ field: StaticString, upTo length: Int = .max) throws(FrameError) -> String {
        let span = try span(field)
        guard span.isPlain else {
            let text = try unescaped(span)
            guard text.utf8.count <= length else { throw FrameError(.tooLong, field: field, at: span.start) }
            return text
        }
        guard span.end - span.start <= length else { throw FrameError(.tooLong, field: field, at: span.start) }
        return unsafe String(decoding: slice(from: span.start, to: span.end), as: UTF8.self)
    }

    /// Takes a text as a name of the protocol.
    mutating func word(_ field: StaticString) throws(FrameError) -> FrameWord {
        let span = try span(field)
        return span.isPlain ? unsafe FrameWord(slice(from: span.start, to: span.end)) : FrameWord(try unescaped(span))
    }

    /// Takes a text, and gives its bytes to somebody who knows what they mean; nil is no such thing.
    mutating func value<Value>(
        _ field: StaticString, _ read: (UnsafeRawBufferPointer) -> Value?
    ) throws(FrameError) -> Value {
        let span = try span(field)
        let value: Value?
        if span.isPlain {
            value = unsafe read(slice(from: span.start, to: span.end))
        } else {
            let text = Array(try unescaped(span).utf8)
            value = unsafe text.withUnsafeBytes { unsafe read($0) }
        }
        guard let value else { throw FrameError(.invalidValue, field: field, at: span.start) }
        return value
    }

    /// Takes any one value as it is written.
    mutating func raw() throws(FrameError) -> [UInt8] {
        let range = try range()
        return unsafe [UInt8](slice(from: range.lowerBound, to: range.upperBound))
    }

    /// Goes past any one value, and says where it is.
    mutating func range() throws(FrameError) -> Range<Int> {
        skipSpace()
        let start = position
        try skip()
        return start..<position
    }

    // MARK: - Passing over

    /// Goes past the value that comes next, and checks that it is one.
    mutating func skip() throws(FrameError) {
        // A bit for each container that is open, 1 of an object.
        var (containers, depth): (UInt64, Int) = (0, 0)
        while true {
            skipSpace()
            switch peek() {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < FrameReader.maximumDepth else { throw FrameError(.tooDeep, at: position) }
                let isObject = peek() == UInt8(ascii: "{")
                position += 1
                (containers, depth) = (containers << 1 | (isObject ? 1 : 0), depth + 1)
                if !skipSpace(to: isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if isObject { try skipKey() }
                    continue
                }
                (containers, depth) = (containers >> 1, depth - 1)
            case UInt8(ascii: "\""): _ = try span("")
            case UInt8(ascii: "t"): try take("true")
            case UInt8(ascii: "f"): try take("false")
            case UInt8(ascii: "n"): try take("null")
            default: try skipNumber()
            }
            // What ends after this value.
            while depth > 0, !skipSpace(to: UInt8(ascii: ",")) {
                guard skipSpace(to: containers & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw unexpected() }
                (containers, depth) = (containers >> 1, depth - 1)
            }
            if depth == 0 { return }
            if containers & 1 == 1 { try skipKey() }
        }
    }

    /// Goes past the value that comes next however deep its parts lie, and whether or not they are in order.
    mutating func pass() throws(FrameError) {
        var depth = 0
        repeat {
            skipSpace()
            switch peek() {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}") where depth > 0, UInt8(ascii: "]") where depth > 0:
                depth -= 1
                position += 1
            case UInt8(ascii: ",") where depth > 0, UInt8(ascii: ":") where depth > 0: position += 1
            case UInt8(ascii: "\""): _ = try span("")
            default: try passWord()
            }
        } while depth > 0
    }

    /// Goes past what is neither a container nor a string.
    private mutating func passWord() throws(FrameError) {
        let start = position
        while let byte = peek(), byte > 0x20, !"{}[],:\"".utf8.contains(byte) { position += 1 }
        if position == start { throw unexpected() }
    }

    private mutating func skipKey() throws(FrameError) {
        _ = try span("")
        guard skipSpace(to: UInt8(ascii: ":")) else { throw unexpected() }
    }

    /// RFC 8259 §6.
    private mutating func skipNumber() throws(FrameError) {
        let start = position
        if peek() == UInt8(ascii: "-") { position += 1 }
        let whole = position
        try skipDigits()
        if unsafe bytes[whole] == UInt8(ascii: "0"), position > whole + 1 { throw FrameError(.malformed, at: whole) }
        // Only so many digits, or an exponent, can be too much.
        var mayBeHuge = position - whole > 308
        if peek() == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            position += 1
            mayBeHuge = true
            if peek() == UInt8(ascii: "-") || peek() == UInt8(ascii: "+") { position += 1 }
            try skipDigits()
        }
        if isStrict, mayBeHuge, !isFinite(from: start) { throw FrameError(.outOfRange, at: start) }
    }

    /// Whether the number that ends here is one that a Double holds (RFC 8259 §6); its form was looked at.
    private func isFinite(from start: Int) -> Bool {
        // 0.DIGITS × 10^power
        var (digits, power, isFraction) = ("", 0, false)
        var place = start
        scan: while place < position {
            let byte = unsafe bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "0") where digits.isEmpty: if isFraction { power -= 1 }
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if !isFraction { power += 1 }
                // More of them make no difference.
                if digits.utf8.count < 20 { digits.unicodeScalars.append(Unicode.Scalar(byte)) }
            case UInt8(ascii: "e"), UInt8(ascii: "E"): break scan
            default: break
            }
        }
        let isNegative = unsafe place < position && bytes[place] == UInt8(ascii: "-")
        var exponent = 0
        while place < position {
            let digit = unsafe Int(bytes[place]) - Int(UInt8(ascii: "0"))
            if digit >= 0 { exponent = min(exponent * 10 + digit, 1 << 40) }
            place += 1
        }
        power += isNegative ? -exponent : exponent
        if digits.isEmpty || power < 309 { return true }
        return power == 309 && Double("0.\(digits)e309")?.isFinite == true
    }

    private mutating func skipDigits() throws(FrameError) {
        let start = position
        while let byte = peek(), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        if position == start { throw unexpected() }
    }

    private mutating func take(_ word: StaticString) throws(FrameError) {
        for place in 0..<word.utf8CodeUnitCount {
            guard unsafe peek() == word.utf8Start[place] else { throw unexpected() }
            position += 1
        }
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func skipSpace(to byte: UInt8) -> Bool {
        skipSpace()
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    /// What is wrong with the next value, which is not of its field's kind, or no value.
    private func wrongKind(_ field: StaticString) -> FrameError {
        var next = self
        do throws(FrameError) { try next.skip() } catch { return FrameError(error.problem, field: field, at: error.offset) }
        return FrameError(.wrongKind, field: field, at: position)
    }

    // MARK: - Strings

    /// Where a string stands between its quotes, and whether it holds no escapes.
    private struct Span {
        var start: Int
        var end: Int
        var isPlain: Bool
    }

    /// Takes a string, whose escapes and UTF-8 are checked.
    private mutating func span(_ field: StaticString) throws(FrameError) -> Span {
        guard skipSpace(to: UInt8(ascii: "\"")) else { throw field.utf8CodeUnitCount == 0 ? unexpected() : wrongKind(field) }
        var span = Span(start: position, end: position, isPlain: true)
        while true {
            skipPlain()
            guard let byte = peek() else { throw unexpected(field) }
            switch byte {
            case UInt8(ascii: "\""):
                span.end = position
                position += 1
                return span
            case UInt8(ascii: "\\"):
                span.isPlain = false
                try skipEscape()
            case 0..<0x20: throw unexpected(field)
            case 0x80...: try skipScalar()
            default: position += 1
            }
        }
    }

    /// Goes past blocks of eight bytes of ASCII that hold no quote, backslash or control character.
    private mutating func skipPlain() {
        while end - position >= 8 {
            let block = unsafe bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            // A byte below n, if all are below 0x80: (byte - n) borrows into its highest bit.
            let (quote, backslash) = (block ^ 0x2222_2222_2222_2222, block ^ 0x5C5C_5C5C_5C5C_5C5C)
            let one: UInt64 = 0x0101_0101_0101_0101
            let found = (quote &- one) & ~quote | (backslash &- one) & ~backslash | (block &- 0x2020_2020_2020_2020) & ~block | block
            guard found & 0x8080_8080_8080_8080 == 0 else { return }
            position += 8
        }
    }

    private mutating func skipEscape() throws(FrameError) {
        position += 1
        switch peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            let start = position - 1
            let first = try skipUnit()
            guard isStrict, 0xD800...0xDFFF ~= first else { return }
            // RFC 8259 §7: two of them are one character.
            guard first < 0xDC00, peek() == UInt8(ascii: "\\"), position + 1 < end, unsafe bytes[position + 1] == UInt8(ascii: "u") else {
                throw FrameError(.invalidText, at: start)
            }
            position += 1
            guard 0xDC00...0xDFFF ~= (try skipUnit()) else { throw FrameError(.invalidText, at: start) }
        default: throw unexpected()
        }
    }

    /// Goes past an `u` and its four digits.
    private mutating func skipUnit() throws(FrameError) -> UInt16 {
        position += 1
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek(), let digit = Hexadecimal.value(of: byte) else { throw unexpected() }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    /// Goes past a character beyond ASCII: RFC 3629 §4.
    private mutating func skipScalar() throws(FrameError) {
        let start = position
        guard let first = peek() else { return }
        let (more, second): (Int, ClosedRange<UInt8>) =
            switch first {
            case 0xC2...0xDF: (1, 0x80...0xBF)
            case 0xE0: (2, 0xA0...0xBF)
            case 0xE1...0xEC, 0xEE...0xEF: (2, 0x80...0xBF)
            case 0xED: (2, 0x80...0x9F)
            case 0xF0: (3, 0x90...0xBF)
            case 0xF1...0xF3: (3, 0x80...0xBF)
            case 0xF4: (3, 0x80...0x8F)
            default: throw FrameError(.invalidText, at: start)
            }
        position += 1
        for place in 0..<more {
            guard let byte = peek() else { throw unexpected() }
            guard (place == 0 ? second : 0x80...0xBF).contains(byte) else { throw FrameError(.invalidText, at: start) }
            position += 1
        }
    }

    private func unescaped(_ span: Span) throws(FrameError) -> String {
        var reader = unsafe ByteReader(bytes, from: span.start)
        // Two escapes may be no pair of surrogates.
        do throws(CodecError) { return try reader.string(of: try reader.jsonText()) } catch {
            throw FrameError(.invalidText, at: error.offset)
        }
    }
}
