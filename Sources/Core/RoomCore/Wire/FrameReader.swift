import CodecCore

/// Reads the JSON of a frame where it lies, strictly as RFC 8259 has it, and says which field is wrong.
struct FrameReader {
    /// How deep values may lie in one another; a receiver's own reader has to bear a payload too.
    static let maximumDepth = 64

    private var bytes: ByteReader
    /// Whether surrogates that are no pair, and numbers beyond a Double, are refused: others' parsers lose a whole frame for them.
    ///
    /// What a hub says is not read so: its log may hold some from before they were refused.
    var isStrict = false

    /// Reads these bytes, which must live as long as the reader is used.
    @unsafe init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = ByteReader(bytes) }

    /// Where the next value begins, or the space before it.
    var position: Int {
        get { bytes.position }
        set { bytes.position = newValue }
    }

    @inline(__always) private mutating func take<Value>(
        _ field: StaticString = "", _ body: (inout ByteReader) throws(CodecError) -> Value
    ) throws(FrameError) -> Value {
        do throws(CodecError) { return try body(&bytes) } catch { throw FrameError(error, field: field) }
    }

    /// What is wrong with the next value, which is not of its field's kind, or no value.
    private func wrongKind(_ field: StaticString) -> FrameError {
        var next = self
        do throws(FrameError) { try next.skip() } catch { return FrameError(error.problem, field: field, at: error.offset) }
        return FrameError(.wrongKind, field: field, at: position)
    }

    // MARK: - Containers

    /// How far a reader is in an object or an array.
    struct Container {
        fileprivate var isFirst = true
    }

    /// Goes into the object that comes next.
    mutating func object(_ field: StaticString = "") throws(FrameError) -> Container { try open(UInt8(ascii: "{"), field) }

    /// Goes into the array that comes next.
    mutating func array(_ field: StaticString) throws(FrameError) -> Container { try open(UInt8(ascii: "["), field) }

    private mutating func open(_ bracket: UInt8, _ field: StaticString) throws(FrameError) -> Container {
        guard bytes.skipSpace(to: bracket) else { throw wrongKind(field) }
        return Container()
    }

    /// Takes the next key of an object; nil at its end.
    mutating func key(of object: inout Container) throws(FrameError) -> FrameWord? {
        guard try hasItem(before: UInt8(ascii: "}"), of: &object) else { return nil }
        try take { reader throws(CodecError) in try reader.expect(UInt8(ascii: "\"")) }
        let word = unsafe try rest(of: "") { unsafe FrameWord($0) }
        try take { reader throws(CodecError) in try reader.expect(UInt8(ascii: ":")) }
        return word
    }

    /// Whether another element follows; after the last one the array is left.
    mutating func hasElement(of array: inout Container) throws(FrameError) -> Bool { try hasItem(before: UInt8(ascii: "]"), of: &array) }

    private mutating func hasItem(before bracket: UInt8, of container: inout Container) throws(FrameError) -> Bool {
        try take { reader throws(CodecError) in try reader.hasItem(before: bracket, isFirst: &container.isFirst) }
    }

    /// Makes sure that nothing follows.
    mutating func finish() throws(FrameError) { try take { reader throws(CodecError) in try reader.finishJSON() } }

    // MARK: - Scalars

    /// Takes a whole number that the protocol can say.
    mutating func number(_ field: StaticString, from lowest: Int64 = 0) throws(FrameError) -> Int64 {
        bytes.skipSpace()
        let start = position
        guard let number = bytes.jsonInteger() else { throw wrongKind(field) }
        guard number >= lowest, number.magnitude < RoomsLimits.number else { throw FrameError(.outOfRange, field: field, at: start) }
        return number
    }

    mutating func flag(_ field: StaticString) throws(FrameError) -> Bool {
        guard let flag = try take(field, { reader throws(CodecError) in try reader.jsonBool() }) else { throw wrongKind(field) }
        return flag
    }

    /// Takes a text of at most so many bytes; no text of a frame is longer than the frame.
    mutating func text(_ field: StaticString, upTo length: Int = .max) throws(FrameError) -> String {
        try openText(field)
        let start = position
        let text = try take(field) { reader throws(CodecError) in try reader.string(of: try reader.jsonText()) }
        guard text.utf8.count <= length else { throw FrameError(.tooLong, field: field, at: start) }
        return text
    }

    /// Takes a text as a name of the protocol.
    mutating func word(_ field: StaticString) throws(FrameError) -> FrameWord {
        try openText(field)
        return unsafe try rest(of: field) { unsafe FrameWord($0) }
    }

    /// Takes a text, and gives its bytes to somebody who knows what they mean; nil is no such thing.
    mutating func value<Value>(
        _ field: StaticString, _ read: (UnsafeRawBufferPointer) -> Value?
    ) throws(FrameError) -> Value {
        try openText(field)
        let start = position
        guard let value = unsafe try rest(of: field, read) else { throw FrameError(.invalidValue, field: field, at: start) }
        return value
    }

    private mutating func openText(_ field: StaticString) throws(FrameError) {
        guard bytes.skipSpace(to: UInt8(ascii: "\"")) else { throw wrongKind(field) }
    }

    /// Takes what follows the quote that opens a text, and lends its bytes, the escapes resolved.
    @inline(__always) private mutating func rest<Value>(
        of field: StaticString, _ read: (UnsafeRawBufferPointer) -> Value
    ) throws(FrameError) -> Value {
        try take(field) { reader throws(CodecError) in
            let text = try reader.jsonText()
            guard text.hasEscapes else {
                try reader.check(text)
                return unsafe read(reader.bytes(from: text.start, to: text.end))
            }
            var string = try reader.string(of: text)
            return string.withUTF8 { unsafe read(UnsafeRawBufferPointer($0)) }
        }
    }

    /// Takes any one value as it is written.
    mutating func raw() throws(FrameError) -> [UInt8] {
        let range = try range()
        return unsafe [UInt8](bytes.bytes(from: range.lowerBound, to: range.upperBound))
    }

    /// Goes past any one value, and says where it is.
    mutating func range() throws(FrameError) -> Range<Int> {
        bytes.skipSpace()
        let start = position
        try skip()
        return start..<position
    }

    /// Goes past the value that comes next, and checks that it is one.
    mutating func skip() throws(FrameError) {
        try take { [isStrict] reader throws(CodecError) in try reader.checkJSON(levels: Self.maximumDepth, isStrict: isStrict) }
    }

    /// Goes past the value that comes next however deep its parts lie, and whether or not they are in order.
    mutating func pass() throws(FrameError) {
        bytes.skipSpace()
        try take { reader throws(CodecError) in try reader.skipJSON() }
    }
}

extension FrameError {
    /// What is wrong with JSON, as an error of a frame.
    fileprivate init(_ error: CodecError, field: StaticString) {
        let problem: Problem =
            switch error.code {
            case .truncated: .truncated
            case .invalidText: .invalidText
            case .tooDeep: .tooDeep
            case .trailingBytes: .trailingBytes
            case .overflow: .outOfRange
            default: .malformed
            }
        self.init(problem, field: field, at: error.offset)
    }
}
