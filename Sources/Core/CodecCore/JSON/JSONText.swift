/// Where a string of JSON stands between its quotes.
package struct JSONText {
    let start: Int
    let end: Int
    let hasEscapes: Bool
}

extension ByteReader {
    /// Goes past white space, RFC 8259 §2.
    package mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position &+= 1 }
    }

    /// Goes past white space, then past this byte if it is next.
    package mutating func skipSpace(to byte: UInt8) -> Bool {
        skipSpace()
        guard peek() == byte else { return false }
        position &+= 1
        return true
    }

    /// Goes past a string whose opening quote has been taken.
    package mutating func jsonText() throws(CodecError) -> JSONText {
        let start = position
        var hasEscapes = false
        while true {
            skipPlain()
            switch try byte() {
            case UInt8(ascii: "\""): return JSONText(start: start, end: position - 1, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                _ = try byte()
            case 0..<0x20: throw CodecError(.malformed, at: position - 1)
            default: break
            }
        }
    }

    /// Goes past what is no quote, backslash or control character, as long as it comes in blocks of eight bytes.
    private mutating func skipPlain() {
        while left >= 8 {
            let block = UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            // A byte below n, if all are below 0x80: (byte - n) borrows into its highest bit.
            let quote = block ^ 0x2222_2222_2222_2222
            let backslash = block ^ 0x5C5C_5C5C_5C5C_5C5C
            let one: UInt64 = 0x0101_0101_0101_0101
            let found = (quote &- one) & ~quote | (backslash &- one) & ~backslash | (block &- 0x2020_2020_2020_2020) & ~block
            let highest = found & 0x8080_8080_8080_8080
            guard highest == 0 else {
                // What lies below the first that is found is plain; above it a borrow may have made more of them.
                position &+= highest.trailingZeroBitCount / 8
                return
            }
            position &+= 8
        }
    }

    /// The text of a string, its escapes resolved.
    package func string(of text: JSONText) throws(CodecError) -> String {
        let bytes = unsafe bytes(from: text.start, to: text.end)
        guard text.hasEscapes else {
            guard let string = unsafe String(utf8: bytes) else { throw CodecError(.invalidText, at: text.start) }
            return string
        }
        var plain: [UInt8] = []
        plain.reserveCapacity(text.end - text.start)
        var reader = unsafe ByteReader(bytes)
        do throws(CodecError) { while let byte = try reader.unescaped(into: &plain) { plain.append(byte) } } catch {
            throw CodecError(error.code, at: text.start + error.offset)
        }
        guard let string = unsafe plain.withUnsafeBytes({ unsafe String(utf8: $0) }) else { throw CodecError(.invalidText, at: text.start) }
        return string
    }

    /// Finds out whether ``string(of:)`` would take a string, without making a text of it.
    func check(_ text: JSONText) throws(CodecError) {
        let bytes = unsafe bytes(from: text.start, to: text.end)
        if text.hasEscapes {
            var reader = unsafe ByteReader(bytes)
            do throws(CodecError) { while try reader.skipEscape() {} } catch {
                throw CodecError(error.code, at: text.start + error.offset)
            }
        }
        guard unsafe bytes.isUTF8 else { throw CodecError(.invalidText, at: text.start) }
    }

    /// Goes past the next escape; false if there is none.
    private mutating func skipEscape() throws(CodecError) -> Bool {
        while let first = peek() {
            let start = position
            position &+= 1
            guard first == UInt8(ascii: "\\") else { continue }
            switch try byte() {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
                UInt8(ascii: "r"), UInt8(ascii: "t"):
                break
            case UInt8(ascii: "u"): _ = try scalar(from: start)
            default: throw CodecError(.malformed, at: start)
            }
            return true
        }
        return false
    }

    /// Takes the next byte, or what an escape stands for; a character beyond ASCII is appended by itself; nil at the end.
    private mutating func unescaped(into plain: inout [UInt8]) throws(CodecError) -> UInt8? {
        while let first = peek() {
            let start = position
            position &+= 1
            guard first == UInt8(ascii: "\\") else { return first }
            switch try byte() {
            case UInt8(ascii: "\""): return UInt8(ascii: "\"")
            case UInt8(ascii: "\\"): return UInt8(ascii: "\\")
            case UInt8(ascii: "/"): return UInt8(ascii: "/")
            case UInt8(ascii: "b"): return 0x08
            case UInt8(ascii: "f"): return 0x0C
            case UInt8(ascii: "n"): return 0x0A
            case UInt8(ascii: "r"): return 0x0D
            case UInt8(ascii: "t"): return 0x09
            case UInt8(ascii: "u"): plain.append(contentsOf: String(Character(try scalar(from: start))).utf8)
            default: throw CodecError(.malformed, at: start)
            }
        }
        return nil
    }

    /// The character of `\u` and four digits, or of two such escapes that are surrogates, RFC 8259 §7.
    private mutating func scalar(from start: Int) throws(CodecError) -> Unicode.Scalar {
        let first = try hexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, left >= 6, try byte() == UInt8(ascii: "\\"), try byte() == UInt8(ascii: "u") else {
            throw CodecError(.invalidText, at: start)
        }
        let second = try hexadecimal()
        guard (0xDC00...0xDFFF).contains(second) else { throw CodecError(.invalidText, at: start) }
        let code = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        guard let scalar = Unicode.Scalar(code) else { throw CodecError(.invalidText, at: start) }
        return scalar
    }

    private mutating func hexadecimal() throws(CodecError) -> UInt16 {
        var number: UInt16 = 0
        for _ in 0..<4 {
            let place = position
            let byte = try byte()
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt16(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt16(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt16(byte - UInt8(ascii: "A") + 10)
            default: throw CodecError(.malformed, at: place)
            }
        }
        return number
    }
}
