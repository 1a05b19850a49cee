import MachineCore

/// Writes JSON without white space, and a comma wherever one has to be.
package struct JSONWriter: ~Copyable {
    private var bytes: ByteWriter
    /// A value stands before the next one.
    private var needsComma = false

    /// Makes room for about so many bytes.
    package init(capacity: Int) { bytes = ByteWriter(capacity: capacity) }

    /// What was written.
    package consuming func finish() -> [UInt8] { bytes.array() }

    /// Begins an array or an object.
    package mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    /// Ends an array or an object.
    package mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    /// Writes a key that needs no escaping.
    package mutating func key(_ key: StaticString) {
        quoted { bytes in unsafe bytes.append(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)) }
        colon()
    }

    package mutating func number(_ number: Int64) {
        separate()
        bytes.integer(number)
    }

    package mutating func text(_ text: String) {
        separate()
        bytes.jsonText(text)
    }

    package mutating func flag(_ flag: Bool) { plain(flag ? "true" : "false") }

    /// Writes a value that is JSON already.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(all: json)
    }

    /// Writes a string of what needs no escaping.
    package mutating func quoted(_ write: (inout ByteWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        write(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func colon() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func plain(_ word: String) {
        separate()
        bytes.plain(word)
    }
}

extension JSONWriter {
    mutating func value(_ value: Value) throws(CodecError) {
        switch value {
        case .null: plain("null")
        case .bool(let value): flag(value)
        case .integer(let number): self.number(number)
        case .unsigned(let number): plain(String(number))
        case .float(let number):
            guard number.isFinite else { throw unsupported }
            plain(number.description)
        case .text(let string): text(string)
        case .bytes(let bytes): quoted { $0.append(all: Base64.digits(bytes)) }
        case .array(let items):
            open(UInt8(ascii: "["))
            for item in items { try self.value(item) }
            close(UInt8(ascii: "]"))
        case .map(let map):
            open(UInt8(ascii: "{"))
            for entry in map {
                switch entry.key {
                case .text(let key): text(key)
                case .integer(let number): quoted { $0.integer(number) }
                case .unsigned(let number): quoted { $0.digits(number) }
                default: throw unsupported
                }
                colon()
                try self.value(entry.value)
            }
            close(UInt8(ascii: "}"))
        case .timestamp(let time): quoted { $0.plain(time.description) }
        case .tagged(_, let inner): try self.value(inner)
        case .extension: throw unsupported
        }
    }

    private var unsupported: CodecError { CodecError(.unsupported, at: bytes.count) }
}

extension String {
    /// The text as a string of JSON, with its quotes.
    package var inJSON: String {
        var writer = ByteWriter(capacity: utf8.count + 2)
        writer.jsonText(self)
        return unsafe String(decoding: writer.bytes, as: UTF8.self)
    }
}
