/// Reads one scalar of a payload without decoding the rest, such as the symbol of a tick or the id of an answered request.
///
/// ```
/// let symbol = PayloadPeek(.json, "symbol")
/// symbol.contains("SAIL", in: payload)
/// ```
///
/// It follows one key per object, uses the first match, and skips all other values without decoding them. It stops at the scalar, so bytes
/// after it need not be well-formed. The methods allocate only the returned `String`, and one more for a JSON text with escapes.
public struct PayloadPeek: Hashable, Sendable {
    /// The encoding of the payload.
    public enum Format: Hashable, Sendable {
        /// JSON, RFC 8259.
        case json
        /// MessagePack.
        case messagePack
        /// CBOR, RFC 8949.
        case cbor
    }

    /// The encoding of the payload.
    public let format: Format
    /// The keys that lead to the scalar, outermost first.
    ///
    /// Empty: the payload itself is the scalar.
    public let path: [String]

    /// Creates a peek along these keys, outermost first.
    public init(_ format: Format, _ path: String...) { self.init(format, path: path) }

    /// Creates a peek along these keys, outermost first.
    public init(_ format: Format, path: [String]) { (self.format, self.path) = (format, path) }

    /// Returns the text; nil if the key is missing, the value is not a text, or the payload is malformed.
    public func string(in payload: RawSpan) -> String? {
        withScalar(in: payload) { reader, scalar in
            switch scalar {
            case .text(let text): try? reader.string(of: text)
            default: nil
            }
        }
    }

    /// Calls `body` with the bytes of the text, in place if it has no escapes; returns nil if there is none.
    ///
    /// The UTF-8 is not validated.
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

    /// Returns whether the scalar is this text, compared by bytes.
    public func contains(_ text: String, in payload: RawSpan) -> Bool {
        unsafe withText(in: payload) { unsafe $0.equals(text) } ?? false
    }

    /// Returns the integer; nil if there is none or it does not fit.
    public func integer(in payload: RawSpan) -> Int64? {
        withScalar(in: payload) { _, scalar in
            switch scalar {
            case .unsigned(let number): Int64(exactly: number)
            case .negative(let number): Int64(exactly: number).map { ~$0 }
            default: nil
            }
        }
    }

    /// Returns the integer of at least 0; nil if there is none or it does not fit.
    public func unsigned(in payload: RawSpan) -> UInt64? {
        withScalar(in: payload) { _, scalar in
            if case .unsigned(let number) = scalar { number } else { nil }
        }
    }

    /// Returns the number, integer or not, rounded to the nearest double; nil if there is none.
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

    /// Returns the scalar of any kind, found in one pass; nil if there is none.
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

/// The scalar that was found.
private enum PeekedScalar {
    case text(JSONText)
    case unsigned(UInt64)
    case negative(UInt64)
    case float(Double)
}

extension ByteReader {
    /// Moves to the value of a key in the map that is next; returns false if it is not a map, or has no such key.
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

    /// Moves to the value of a key in the object that is next; returns false if it is not an object, or has no such key.
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

/// Checks the shape of a Protocol Buffers message in one pass, before it is decoded.
///
/// A repeated field is merged into the first one, and generated code copies a `oneof` each time: decoding one short message that repeats
/// its body takes quadratic time, which is minutes for 1 MiB. A repeated field of empty messages takes a hundred times the memory of its
/// bytes.
package enum ProtobufShape {
    /// Fields other than the body come from later versions, so there are few.
    private static let mostFields = 16

    /// Returns whether a message whose fields are all messages repeats no field, and each of them has at most this many fields.
    ///
    /// Bytes that are not Protocol Buffers may pass: the decoder rejects them.
    @unsafe package static func isPlain(_ bytes: UnsafeRawBufferPointer, fields most: Int) -> Bool {
        var (fields, seen, count) = (unsafe ProtobufFields(ByteReader(bytes), upTo: bytes.count), UInt64(0), 0)
        while let field = fields.next() {
            count += 1
            // Fields with greater numbers come from a later version and are not kept.
            let bit: UInt64 = field.number < 64 ? 1 << field.number : 0
            guard count <= mostFields, seen & bit == 0 else { return false }
            seen |= bit
            guard let body = field.payload, most < body.count / 2 else { continue }
            var (inner, count) = (unsafe ProtobufFields(ByteReader(bytes, from: body.lowerBound), upTo: body.upperBound), 0)
            while inner.next() != nil {
                count += 1
                guard count <= most else { return false }
            }
        }
        return true
    }
}

/// Iterates over the fields of a message.
///
/// It ends early at malformed bytes.
///
/// Source: protobuf.dev, "Encoding".
private struct ProtobufFields {
    private var bytes: ByteReader
    private let end: Int

    init(_ bytes: ByteReader, upTo end: Int) { (self.bytes, self.end) = (bytes, end) }

    /// Returns the next field.
    ///
    /// `payload` is its range if it is length-delimited.
    mutating func next() -> (number: UInt64, payload: Range<Int>?)? {
        guard let tag = varint() else { return nil }
        let number = tag >> 3
        switch tag & 7 {
        case 0: return varint().map { _ in (number, nil) }
        case 1: return skip(8).map { _ in (number, nil) }
        case 2: return varint().flatMap { skip($0) }.map { (number, $0) }
        // The start and the end of a group count as fields of their own.
        case 3, 4: return (number, nil)
        case 5: return skip(4).map { _ in (number, nil) }
        default: return nil
        }
    }

    private mutating func skip(_ count: UInt64) -> Range<Int>? {
        let start = bytes.position
        guard count <= UInt64(max(end - start, 0)) else { return nil }
        bytes.move(to: start + Int(count))
        return start..<bytes.position
    }

    private mutating func varint() -> UInt64? {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while shift < 64, bytes.position < end, let byte = try? bytes.byte() {
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}
