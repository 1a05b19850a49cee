extension ByteReader {
    /// Goes past the next value of JSON by its brackets and strings, whatever the rest; at its first byte.
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
            // Between values of a container that is skipped as a whole.
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09:
                guard depth > 0 else { throw CodecError(.malformed, at: place) }
            default: skipWord()
            }
        } while depth > 0
    }

    /// Goes past the rest of a number or of a name.
    private mutating func skipWord() {
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
                position &+= 1
            default: return
            }
        }
    }
}
