/// Reads one scalar of a payload, and nothing else of it: which symbol a tick is of, which request an answer answers.
///
/// ```
/// let symbol = PayloadPeek(.json, "symbol")
/// symbol.contains("SAIL", in: payload)
/// ```
/// It looks at the keys of one object after the other, takes the first that fits, and goes past all other values without understanding
/// them. It stops at what it looks for: what comes behind need not even be well-formed. No method allocates anything but a `String` that
/// it returns, and one for a text of JSON that has escapes.
public struct PayloadPeek: Hashable, Sendable {
    /// What the payload is written in.
    public enum Format: Hashable, Sendable {
        /// JSON, RFC 8259.
        case json
        /// MessagePack.
        case messagePack
        /// CBOR, RFC 8949.
        case cbor
    }

    /// What the payload is written in.
    public let format: Format
    /// The keys on the way to the scalar, the outermost first; none: the payload is the scalar.
    public let path: [String]

    /// A peek along these keys, the outermost first.
    public init(_ format: Format, _ path: String...) { self.init(format, path: path) }

    /// A peek along these keys, the outermost first.
    public init(_ format: Format, path: [String]) { (self.format, self.path) = (format, path) }

    /// The text, or nil if there is none: no such key, no text, or bytes that are not of the format.
    public func string(in payload: RawSpan) -> String? {
        withScalar(in: payload) { reader, scalar in
            switch scalar {
            case .text(let text): try? reader.string(of: text)
            default: nil
            }
        }
    }

    /// Lends the bytes of the text, UTF-8 if the sender kept to it, in place where it has no escapes; nil if there is none.
    public func withText<Result>(in payload: RawSpan, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result? {
        try withScalar(in: payload) { reader, scalar in
            switch scalar {
            case .text(let text) where !text.hasEscapes: return try unsafe body(reader.bytes(from: text.start, to: text.end))
            case .text(let text):
                guard var string = try? reader.string(of: text) else { return nil }
                return try string.withUTF8 { unsafe try body(UnsafeRawBufferPointer($0)) }
            default: return nil
            }
        }
    }

    /// Whether the scalar is this text, byte by byte.
    public func contains(_ text: String, in payload: RawSpan) -> Bool {
        unsafe withText(in: payload) { unsafe $0.equals(text) } ?? false
    }

    /// The integer, or nil if there is none that fits.
    public func integer(in payload: RawSpan) -> Int64? {
        withScalar(in: payload) { _, scalar in
            switch scalar {
            case .unsigned(let number): Int64(exactly: number)
            case .negative(let number): Int64(exactly: number).map { ~$0 }
            default: nil
            }
        }
    }

    /// The integer from 0 up, or nil if there is none that fits.
    public func unsigned(in payload: RawSpan) -> UInt64? {
        withScalar(in: payload) { _, scalar in
            if case .unsigned(let number) = scalar { number } else { nil }
        }
    }

    /// The number, integer or not, rounded to the nearest double; nil if there is none.
    public func double(in payload: RawSpan) -> Double? {
        withScalar(in: payload) { _, scalar in
            switch scalar {
            case .unsigned(let number): Double(number)
            case .negative(let number): Int64(exactly: number).map { Double(~$0) }
            case .float(let number): number
            default: nil
            }
        }
    }
}

extension PayloadPeek {
    /// The scalar, whichever it is, found in one pass; nil if there is none.
    package func value(in payload: RawSpan) -> Value? {
        withScalar(in: payload) { reader, scalar in
            switch scalar {
            case .text(let text): (try? reader.string(of: text)).map { .text($0) }
            case .unsigned(let number): Value(number)
            case .negative(let number): Int64(exactly: number).map { .integer(~$0) }
            case .float(let number): .float(number)
            }
        }
    }
}

/// What a peek found.
private enum PeekedScalar {
    case text(JSONText)
    case unsigned(UInt64)
    case negative(UInt64)
    case float(Double)
}

extension PayloadPeek {
    private func withScalar<Result>(
        in payload: RawSpan, _ body: (ByteReader, PeekedScalar) throws -> Result?
    ) rethrows -> Result? {
        try unsafe payload.withUnsafeBytes { bytes in
            var reader = unsafe ByteReader(bytes)
            guard let scalar = try? scalar(from: &reader) else { return nil }
            return try body(reader, scalar)
        }
    }

    private func scalar(from reader: inout ByteReader) throws(CodecError) -> PeekedScalar? {
        switch format {
        case .json: try jsonScalar(from: &reader)
        case .messagePack: try binaryScalar(from: &reader, .messagePack)
        case .cbor: try binaryScalar(from: &reader, .cbor)
        }
    }

    private func binaryScalar(from reader: inout ByteReader, _ format: BinaryFormat) throws(CodecError) -> PeekedScalar? {
        for key in path {
            guard try reader.enter(key, format) else { return nil }
        }
        switch try reader.head(format) {
        case .text(let count):
            let start = reader.position
            try reader.skip(count)
            return .text(JSONText(start: start, end: reader.position, hasEscapes: false))
        case .unsigned(let number): return .unsigned(number)
        case .negative(let number): return .negative(number)
        case .float(let number): return .float(number)
        default: return nil
        }
    }

    private func jsonScalar(from reader: inout ByteReader) throws(CodecError) -> PeekedScalar? {
        for key in path {
            guard try reader.enterJSON(key) else { return nil }
        }
        reader.skipSpace()
        switch reader.peek() {
        case UInt8(ascii: "\""):
            _ = try reader.byte()
            return .text(try reader.jsonText())
        case nil: return nil
        case .some(let byte) where byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10:
            switch try reader.jsonNumber() {
            case .unsigned(let number): return .unsigned(number)
            // -0 is 0.
            case .negative(let number): return number < 0 ? .negative(UInt64(~number)) : .unsigned(0)
            case .float(let number): return .float(number)
            }
        default: return nil
        }
    }
}

extension ByteReader {
    /// Goes to the value of a key in the map that is next; false if that is no map, or has no such key.
    fileprivate mutating func enter(_ key: String, _ format: BinaryFormat) throws(CodecError) -> Bool {
        var pairs: Int
        switch try head(format) {
        case .map(let count): pairs = count
        case .openMap: pairs = .max
        default: return false
        }
        while pairs > 0 {
            pairs &-= 1
            let start = position
            switch try head(format) {
            case .text(let count): if unsafe try take(count).equals(key) { return true }
            case .stop: return false
            default:
                position = start
                try skipValue(format)
            }
            try skipValue(format)
        }
        return false
    }

    /// Goes to the value of a key in the object that is next; false if that is no object, or has no such key.
    fileprivate mutating func enterJSON(_ key: String) throws(CodecError) -> Bool {
        guard skipSpace(to: UInt8(ascii: "{")) else { return false }
        repeat {
            guard skipSpace(to: UInt8(ascii: "\"")) else { return false }
            let name = try jsonText()
            guard skipSpace(to: UInt8(ascii: ":")) else { return false }
            let found = unsafe name.hasEscapes ? try string(of: name) == key : bytes(from: name.start, to: name.end).equals(key)
            if found { return true }
            skipSpace()
            try skipJSON()
        } while skipSpace(to: UInt8(ascii: ","))
        return false
    }
}
