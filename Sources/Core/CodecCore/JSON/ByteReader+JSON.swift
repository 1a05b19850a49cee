import MachineCore

/// The range of a JSON string between its quotes.
package struct JSONText {
    package let start: Int
    package let end: Int
    package let hasEscapes: Bool
    /// Whether all bytes are known to be ASCII.
    var isASCII = false
}

// The grammar of JSON (RFC 8259), shared by all readers.
extension ByteReader {
    /// Skips white space (RFC 8259 §2).
    package mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position &+= 1 }
    }

    /// Skips white space, and then this byte if it is next; returns whether it was.
    package mutating func skipSpace(to byte: UInt8) -> Bool {
        skipSpace()
        guard peek() == byte else { return false }
        position &+= 1
        return true
    }

    /// Skips white space and this byte; throws if it is not next.
    package mutating func expect(_ byte: UInt8) throws(CodecError) {
        guard skipSpace(to: byte) else { throw unexpected }
    }

    /// Throws if anything but white space follows.
    package mutating func finishJSON() throws(CodecError) {
        skipSpace()
        guard left == 0 else { throw CodecError(.trailingBytes, at: position) }
    }

    /// The error for the next byte, or for missing bytes.
    package var unexpected: CodecError { CodecError(left == 0 ? .truncated : .malformed, at: position) }

    /// Returns whether another item of an array or object follows.
    ///
    /// Skips the comma before it, or the bracket after the last item.
    ///
    /// - Parameter isFirst: Whether no item was read yet; set to false.
    package mutating func hasItem(before bracket: UInt8, isFirst: inout Bool) throws(CodecError) -> Bool {
        if isFirst {
            isFirst = false
            return !skipSpace(to: bracket)
        }
        if skipSpace(to: UInt8(ascii: ",")) { return true }
        try expect(bracket)
        return false
    }

    /// Reads true or false; returns nil without moving if something else is next.
    package mutating func jsonBool() throws(CodecError) -> Bool? {
        skipSpace()
        guard let byte = peek(), byte == UInt8(ascii: "t") || byte == UInt8(ascii: "f") else { return nil }
        try expect(byte == UInt8(ascii: "t") ? "true" : "false")
        return byte == UInt8(ascii: "t")
    }

    /// Skips a keyword; throws if it is not next.
    mutating func expect(_ name: StaticString) throws(CodecError) {
        for place in 0..<name.utf8CodeUnitCount {
            guard unsafe peek() == name.utf8Start[place] else { throw unexpected }
            position &+= 1
        }
    }

    /// Skips the next value and accepts exactly what `jsonValue(levels:)` accepts, without creating a value.
    ///
    /// - Parameter isStrict: Whether unpaired surrogates and numbers beyond the range of Double are rejected.
    package mutating func checkJSON(levels: Int, isStrict: Bool = true) throws(CodecError) {
        skipSpace()
        let start = position
        switch peek() {
        case UInt8(ascii: "\""):
            position &+= 1
            try check(try jsonText(), isStrict: isStrict)
        case .some(let bracket) where bracket == UInt8(ascii: "{") || bracket == UInt8(ascii: "["):
            guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
            position &+= 1
            var isFirst = true
            // In ASCII, the code of the closing bracket is that of the opening one plus 2.
            while try hasItem(before: bracket + 2, isFirst: &isFirst) {
                if bracket == UInt8(ascii: "{") {
                    try expect(UInt8(ascii: "\""))
                    try check(try jsonText(), isStrict: isStrict)
                    try expect(UInt8(ascii: ":"))
                }
                try checkJSON(levels: levels &- 1, isStrict: isStrict)
            }
        case UInt8(ascii: "n"): try expect("null")
        default:
            // An integer with this few digits fits a Double.
            if try jsonBool() != nil || jsonInteger() != nil && position - start < 300 { return }
            position = start
            do throws(CodecError) { _ = try jsonNumber() } catch {
                if isStrict || error.code != .overflow { throw error }
            }
        }
    }

    /// Skips the next JSON value at its first byte.
    ///
    /// Checks only brackets and strings, at any depth.
    package mutating func skipJSON() throws(CodecError) {
        var depth = 0
        repeat {
            let place = position
            switch try byte() {
            case UInt8(ascii: "\""): _ = try jsonText()
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw CodecError(.malformed, at: place) }
                depth -= 1
            // Between values inside the skipped container.
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09:
                guard depth > 0 else { throw CodecError(.malformed, at: place) }
            default: skipWord()
            }
        } while depth > 0
    }

    /// Skips the rest of a value that is neither a container nor a string.
    private mutating func skipWord() {
        while let byte = peek(), byte > 0x20 {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"),
                UInt8(ascii: "\""):
                return
            default: position &+= 1
            }
        }
    }
}

// MARK: - Strings

extension ByteReader {
    /// Skips a string after its opening quote.
    ///
    /// Its escapes and UTF-8 are checked when it is read.
    package mutating func jsonText() throws(CodecError) -> JSONText {
        let start = position
        var (hasEscapes, seen): (Bool, UInt64) = (false, 0)
        while true {
            seen |= skipPlain()
            let byte = try byte()
            switch byte {
            case UInt8(ascii: "\""):
                return JSONText(start: start, end: position - 1, hasEscapes: hasEscapes, isASCII: seen & 0x8080_8080_8080_8080 == 0)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                _ = try self.byte()
            case 0..<0x20: throw CodecError(.malformed, at: position - 1)
            default: seen |= UInt64(byte)
            }
        }
    }

    /// Skips blocks of eight bytes without quotes, backslashes and control characters; returns all bits that were set.
    @inline(__always) private mutating func skipPlain() -> UInt64 {
        var seen: UInt64 = 0
        while left >= 8 {
            let block = UInt64(littleEndian: unsafe base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            // Detects bytes below n, if all are below 0x80: (byte - n) borrows into the highest bit.
            let quote = block ^ 0x2222_2222_2222_2222
            let backslash = block ^ 0x5C5C_5C5C_5C5C_5C5C
            let one: UInt64 = 0x0101_0101_0101_0101
            let found = (quote &- one) & ~quote | (backslash &- one) & ~backslash | (block &- 0x2020_2020_2020_2020) & ~block
            let highest = found & 0x8080_8080_8080_8080
            guard highest == 0 else {
                // Bytes below the first match are plain. Above it, a borrow may have caused false matches.
                position &+= highest.trailingZeroBitCount / 8
                return seen | block & ((highest & (0 &- highest)) &- 1)
            }
            seen |= block
            position &+= 8
        }
        return seen
    }

    /// Skips up to and including the next quote, backslash or control character; returns its position, or nil if there is none.
    mutating func nextSpecial() -> Int? {
        while true {
            _ = skipPlain()
            guard let byte = peek() else { return nil }
            position &+= 1
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return position &- 1 }
        }
    }

    /// Returns the text of a string with its escapes resolved.
    package func string(of text: JSONText) throws(CodecError) -> String {
        let bytes = unsafe bytes(from: text.start, to: text.end)
        guard text.hasEscapes else {
            if text.isASCII { return unsafe String(decoding: bytes, as: UTF8.self) }
            guard let string = unsafe String(utf8: bytes) else { throw CodecError(.invalidText, at: text.start) }
            return string
        }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var reader = self
        reader.position = text.start
        while reader.position < text.end {
            let byte = try reader.byte()
            if byte != UInt8(ascii: "\\") { plain.append(byte) } else { plain.append(contentsOf: try reader.escape().utf8) }
        }
        guard let string = unsafe plain.withUnsafeBytes({ unsafe String(utf8: $0) }) else { throw CodecError(.invalidText, at: text.start) }
        return string
    }

    /// Checks whether ``string(of:)`` would accept a string, without creating the text.
    ///
    /// - Parameter isStrict: Whether unpaired surrogates are rejected.
    package func check(_ text: JSONText, isStrict: Bool = true) throws(CodecError) {
        if text.hasEscapes {
            var reader = self
            reader.position = text.start
            while reader.position < text.end {
                guard try reader.byte() == UInt8(ascii: "\\") else { continue }
                do throws(CodecError) { _ = try reader.escape() } catch {
                    guard !isStrict, error.code == .invalidText else { throw error }
                    reader.position = error.offset + 6
                }
            }
        }
        if text.isASCII { return }
        guard unsafe bytes(from: text.start, to: text.end).isUTF8 else { throw CodecError(.invalidText, at: text.start) }
    }

    /// Reads the part of an escape after the backslash (RFC 8259 §7); returns the character.
    private mutating func escape() throws(CodecError) -> Unicode.Scalar {
        let start = position - 1
        switch try byte() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let first = try unit()
            if let scalar = Unicode.Scalar(first) { return scalar }
            // Two surrogates form one character.
            guard first < 0xDC00, try byte() == UInt8(ascii: "\\"), try byte() == UInt8(ascii: "u") else {
                throw CodecError(.invalidText, at: start)
            }
            let second = try unit()
            guard 0xDC00...0xDFFF ~= second,
                let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
            else { throw CodecError(.invalidText, at: start) }
            return scalar
        default: throw CodecError(.malformed, at: start)
        }
    }

    /// Reads four hexadecimal digits.
    private mutating func unit() throws(CodecError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek(), let digit = Hexadecimal.value(of: byte) else { throw unexpected }
            unit = unit << 4 | UInt16(digit)
            position &+= 1
        }
        return unit
    }
}
