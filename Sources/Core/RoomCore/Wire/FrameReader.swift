import CodecCore
import MachineCore

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

    /// Takes the name of a room.
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

    /// Takes a proof; one that is not as ours are proves nothing.
    mutating func proof() throws(FrameError) -> CursorProof? { CursorProof(try text("proof")) }

    mutating func messageID(_ field: StaticString = "id") throws(FrameError) -> MessageID {
        MessageID(unsafe try value(field) { bytes in unsafe Bits128(digits: bytes, dashes: true) })
    }

    /// Takes a type; nil if it is empty, which is none.
    mutating func type(upTo length: Int) throws(FrameError) -> String? {
        let type = try text("type", upTo: length)
        return type.isEmpty ? nil : type
    }

    /// Takes the payload in the field `body`.
    mutating func json() throws(FrameError) -> Payload { .json(try raw()) }

    /// Takes the payload in the field `bin`.
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

/// The JSON of a frame on its way into a value: what its type is, and then its fields in any order.
struct FrameObject {
    var reader: FrameReader
    /// The type that its fields are read for.
    let type: FrameWord
    /// Another type stands behind: of keys that are repeated the last one counts.
    private(set) var hasAnotherType = false
    private var object: FrameReader.Container

    /// Begins a frame whose type stands first, as it does when its sender is kind; otherwise looks for it.
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

    /// Takes the next key but `t`; nil after the last one, which ends the frame.
    mutating func key() throws(FrameError) -> FrameWord? {
        while let key = try reader.key(of: &object) {
            guard key == "t" else { return key }
            if try reader.word("t") != type { hasAnotherType = true }
        }
        try reader.finish()
        return nil
    }

    /// Goes past all fields.
    mutating func skip() throws(FrameError) { while try key() != nil { try reader.skip() } }
}

/// Reads a frame with what reads its fields.
func readFrame<Frame>(
    _ bytes: UnsafeRawBufferPointer, isStrict: Bool = false, _ read: (inout FrameObject) throws(FrameError) -> Frame?
) throws(FrameError) -> Frame? {
    var first = unsafe try FrameObject(bytes, lookingForType: false, isStrict: isStrict)
    do throws(FrameError) {
        let frame = try read(&first)
        if !first.hasAnotherType { return frame }
    } catch {
        // Of another type it might be right.
        guard let last = unsafe try? FrameObject(bytes, lookingForType: true, isStrict: isStrict), last.type != first.type else {
            throw error
        }
    }
    var last = unsafe try FrameObject(bytes, lookingForType: true, isStrict: isStrict)
    return try read(&last)
}

extension Optional {
    /// A field that the frame needs.
    func needed(_ field: StaticString) throws(FrameError) -> Wrapped {
        guard let self else { throw FrameError(.missing, field: field, at: 0) }
        return self
    }
}
