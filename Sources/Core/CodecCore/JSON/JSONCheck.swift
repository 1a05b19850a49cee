extension ByteReader {
    /// Goes past the next value, and takes exactly what `jsonValue(levels:)` takes, without making a value of it.
    package mutating func checkJSON(levels: Int) throws(CodecError) {
        skipSpace()
        let start = position
        switch peek() {
        case UInt8(ascii: "\""):
            position &+= 1
            try check(try jsonText())
        case UInt8(ascii: "["):
            try enter(levels, at: start)
            if skipSpace(to: UInt8(ascii: "]")) { return }
            repeat { try checkJSON(levels: levels &- 1) } while try more(before: UInt8(ascii: "]"))
        case UInt8(ascii: "{"):
            try enter(levels, at: start)
            if skipSpace(to: UInt8(ascii: "}")) { return }
            repeat {
                try expectAfterSpace(UInt8(ascii: "\""))
                try check(try jsonText())
                try expectAfterSpace(UInt8(ascii: ":"))
                try checkJSON(levels: levels &- 1)
            } while try more(before: UInt8(ascii: "}"))
        case .some(let byte) where byte &- UInt8(ascii: "0") < 10: if shortDigits() == nil { _ = try jsonNumber() }
        default: _ = try jsonValue(levels: 0)
        }
    }

    private mutating func enter(_ levels: Int, at start: Int) throws(CodecError) {
        guard levels > 0 else { throw CodecError(.tooDeep, at: start) }
        position &+= 1
    }

    /// Takes an integer from 0 up; nil, and goes nowhere, if something else is next.
    package mutating func jsonUnsigned() throws(CodecError) -> UInt64? {
        skipSpace()
        guard let byte = peek() else { throw CodecError(.truncated, at: end) }
        guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        let start = position
        if let number = shortDigits() { return number }
        if case .unsigned(let number) = try jsonNumber() { return number }
        position = start
        return nil
    }

    /// Takes an integer without zeros in front, of at most 18 digits, behind which more follows; nil, and goes nowhere, if it is not one.
    private mutating func shortDigits() -> UInt64? {
        let start = position
        var number: UInt64 = 0
        while let byte = peek() {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else {
                let isWhole = byte != UInt8(ascii: ".") && byte | 0x20 != UInt8(ascii: "e")
                if isWhole, position > start { return number }
                break
            }
            if position &- start == 18 || position > start && number == 0 { break }
            number = number &* 10 &+ UInt64(digit)
            position &+= 1
        }
        position = start
        return nil
    }
}
