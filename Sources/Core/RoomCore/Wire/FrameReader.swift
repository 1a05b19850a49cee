import CodecCore
import MachineCore

/// Reads the JSON of a frame in place, strictly by RFC 8259, and reports which field is wrong.
struct FrameReader {
    /// The maximum nesting depth; a receiver's own parser must be able to read a payload, too.
    static let maximumDepth = 64

    private var bytes: ByteReader
    /// Whether lone surrogates and numbers beyond a Double are refused, because other parsers reject a whole frame for them.
    ///
    /// Frames of a hub are not read strictly: its log may contain such values from before they were refused.
    var isStrict = false

    /// Creates a reader; the bytes must live as long as it is used.
    @unsafe init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = ByteReader(bytes) }

    /// The offset of the next value, or of the space before it.
    var position: Int {
        get { bytes.position }
        set { bytes.position = newValue }
    }

    @inline(__always) private mutating func take<Value>(
        _ field: StaticString = "", _ body: (inout ByteReader) throws(CodecError) -> Value
    ) throws(FrameError) -> Value {
        do throws(CodecError) { return try body(&bytes) } catch { throw FrameError(error, field: field) }
    }

    /// Returns the error for a next value of the wrong kind, or for invalid JSON.
    private func wrongKind(_ field: StaticString) -> FrameError {
        var next = self
        do throws(FrameError) { try next.skip() } catch { return FrameError(error.problem, field: field, at: error.offset) }
        return FrameError(.wrongKind, field: field, at: position)
    }

    // MARK: - Containers

    /// The reader's progress in an object or an array.
    struct Container {
        fileprivate var isFirst = true
    }

    /// Enters the next object.
    mutating func object(_ field: StaticString = "") throws(FrameError) -> Container { try open(UInt8(ascii: "{"), field) }

    /// Enters the next array.
    mutating func array(_ field: StaticString) throws(FrameError) -> Container { try open(UInt8(ascii: "["), field) }

    private mutating func open(_ bracket: UInt8, _ field: StaticString) throws(FrameError) -> Container {
        guard bytes.skipSpace(to: bracket) else { throw wrongKind(field) }
        return Container()
    }

    /// Reads the next key of an object; nil at its end.
    mutating func key(of object: inout Container) throws(FrameError) -> FrameWord? {
        guard try hasItem(before: UInt8(ascii: "}"), of: &object) else { return nil }
        try take { reader throws(CodecError) in try reader.expect(UInt8(ascii: "\"")) }
        let word = unsafe try rest(of: "") { unsafe FrameWord($0) }
        try take { reader throws(CodecError) in try reader.expect(UInt8(ascii: ":")) }
        return word
    }

    /// Returns whether another element follows; after the last one it leaves the array.
    mutating func hasElement(of array: inout Container) throws(FrameError) -> Bool { try hasItem(before: UInt8(ascii: "]"), of: &array) }

    private mutating func hasItem(before bracket: UInt8, of container: inout Container) throws(FrameError) -> Bool {
        try take { reader throws(CodecError) in try reader.hasItem(before: bracket, isFirst: &container.isFirst) }
    }

    /// Checks that nothing follows.
    mutating func finish() throws(FrameError) { try take { reader throws(CodecError) in try reader.finishJSON() } }

    // MARK: - Scalars

    /// Reads an integer within the range of the protocol.
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

    /// Reads a text of at most this many bytes; the frame's length limits it anyway.
    mutating func text(_ field: StaticString, upTo length: Int = .max) throws(FrameError) -> String {
        try openText(field)
        let start = position
        let text = try take(field) { reader throws(CodecError) in try reader.string(of: try reader.jsonText()) }
        guard text.utf8.count <= length else { throw FrameError(.tooLong, field: field, at: start) }
        return text
    }

    /// Reads a text as a word of the protocol.
    mutating func word(_ field: StaticString) throws(FrameError) -> FrameWord {
        try openText(field)
        return unsafe try rest(of: field) { unsafe FrameWord($0) }
    }

    /// Reads a text and passes its bytes to a closure; if that returns nil, the value is invalid.
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

    /// Reads a text after its opening quote, and passes its bytes with all escapes resolved.
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

    /// Reads any value as raw JSON.
    mutating func raw() throws(FrameError) -> [UInt8] {
        let range = try range()
        return unsafe [UInt8](bytes.bytes(from: range.lowerBound, to: range.upperBound))
    }

    /// Skips any value and returns its range.
    mutating func range() throws(FrameError) -> Range<Int> {
        bytes.skipSpace()
        let start = position
        try skip()
        return start..<position
    }

    /// Skips the next value and checks that it is valid JSON.
    mutating func skip() throws(FrameError) {
        try take { [isStrict] reader throws(CodecError) in try reader.checkJSON(levels: Self.maximumDepth, isStrict: isStrict) }
    }

    /// Skips the next value without checking its content or its depth.
    mutating func pass() throws(FrameError) {
        bytes.skipSpace()
        try take { reader throws(CodecError) in try reader.skipJSON() }
    }

    /// Reads the name of a room.
    mutating func room(_ field: StaticString = "room") throws(FrameError) -> RoomName {
        let place = position
        guard let name = RoomName(try text(field)) else { throw FrameError(.invalidName, field: field, at: place) }
        return name
    }

    mutating func user(_ field: StaticString = "user") throws(FrameError) -> UserName {
        let place = position
        guard let name = UserName(try text(field)) else { throw FrameError(.invalidName, field: field, at: place) }
        return name
    }

    mutating func epoch(_ field: StaticString = "epoch") throws(FrameError) -> UInt64 {
        unsafe try value(field) { bytes in bytes.count == 16 ? unsafe Hexadecimal.number(bytes) : nil }
    }

    mutating func device() throws(FrameError) -> DeviceID {
        DeviceID(unsafe try value("device") { bytes in unsafe Bits128(digits: bytes, dashes: false) })
    }

    /// Reads a proof; nil if it does not have the form of a hub's proof.
    mutating func proof() throws(FrameError) -> CursorProof? { CursorProof(try text("proof")) }

    mutating func messageID(_ field: StaticString = "id") throws(FrameError) -> MessageID {
        MessageID(unsafe try value(field) { bytes in unsafe Bits128(digits: bytes, dashes: true) })
    }

    /// Reads a type; an empty type counts as missing.
    mutating func type(upTo length: Int) throws(FrameError) -> String? {
        let type = try text("type", upTo: length)
        return type.isEmpty ? nil : type
    }

    /// Reads the payload in the field `body`.
    mutating func json() throws(FrameError) -> Payload { .json(try raw()) }

    /// Reads the payload in the field `bin`.
    mutating func binary() throws(FrameError) -> Payload {
        .binary(unsafe try value("bin") { bytes in unsafe Base64.bytes(of: bytes) })
    }

    mutating func reference(kindUpTo length: Int) throws(FrameError) -> Reference {
        var (kind, seq): (String?, Int64?)
        let place = position
        var object = try object("about")
        while let key = try key(of: &object) {
            switch key {
            case "kind": kind = try text("kind", upTo: length)
            case "seq": seq = try number("seq", from: 1)
            default: try skip()
            }
        }
        guard let kind, let seq, !kind.isEmpty else { throw FrameError(.missing, field: "about", at: place) }
        return Reference(kind: kind, seq: seq)
    }

    mutating func numbers(_ field: StaticString, upTo count: Int) throws(FrameError) -> [Int64] {
        try list(field, upTo: count) { reader throws(FrameError) in try reader.number(field) }
    }

    mutating func list<Item>(
        _ field: StaticString, upTo count: Int = .max, _ item: (inout FrameReader) throws(FrameError) -> Item
    ) throws(FrameError) -> [Item] {
        var items: [Item] = []
        var array = try array(field)
        while try hasElement(of: &array) {
            guard items.count < count else { throw FrameError(.tooLong, field: field, at: position) }
            items.append(try item(&self))
        }
        return items
    }
}

extension FrameError {
    /// Converts an error of the JSON parser.
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

/// A frame that is being read: its type, and its fields in any order.
struct FrameObject {
    var reader: FrameReader
    /// The type according to which the fields are read.
    let type: FrameWord
    /// Whether another type follows later; of repeated keys, the last one counts.
    private(set) var hasAnotherType = false
    private var object: FrameReader.Container

    /// Starts a frame: takes the first type, or with `lookingForType` the last one.
    init(_ bytes: UnsafeRawBufferPointer, lookingForType: Bool, isStrict: Bool) throws(FrameError) {
        reader = unsafe FrameReader(bytes)
        reader.isStrict = isStrict
        object = try reader.object()
        let (start, container) = (reader.position, object)
        var type: FrameWord?
        while let key = try reader.key(of: &object) {
            if key == "t" { type = try reader.word("t") } else { try reader.skip() }
            if type != nil, !lookingForType { break }
        }
        guard let type else { throw FrameError(.missing, field: "t", at: 0) }
        self.type = type
        reader.position = start
        object = container
    }

    /// Reads the next key except `t`; nil after the last one, which ends the frame.
    mutating func key() throws(FrameError) -> FrameWord? {
        while let key = try reader.key(of: &object) {
            guard key == "t" else { return key }
            if try reader.word("t") != type { hasAnotherType = true }
        }
        try reader.finish()
        return nil
    }

    /// Skips all fields.
    mutating func skip() throws(FrameError) { while try key() != nil { try reader.skip() } }
}

/// Reads a frame with a closure that reads its fields.
func readFrame<Frame>(
    _ bytes: UnsafeRawBufferPointer, isStrict: Bool = false, _ read: (inout FrameObject) throws(FrameError) -> Frame?
) throws(FrameError) -> Frame? {
    var first = unsafe try FrameObject(bytes, lookingForType: false, isStrict: isStrict)
    do throws(FrameError) {
        let frame = try read(&first)
        if !first.hasAnotherType { return frame }
    } catch {
        // The frame may be valid with another type.
        guard let last = unsafe try? FrameObject(bytes, lookingForType: true, isStrict: isStrict), last.type != first.type else {
            throw error
        }
    }
    var last = unsafe try FrameObject(bytes, lookingForType: true, isStrict: isStrict)
    return try read(&last)
}

extension Optional {
    /// Returns the value of a required field, or throws an error if it is missing.
    func needed(_ field: StaticString) throws(FrameError) -> Wrapped {
        guard let self else { throw FrameError(.missing, field: field, at: 0) }
        return self
    }
}
