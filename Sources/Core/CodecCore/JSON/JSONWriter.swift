import MachineCore

/// Writes JSON without white space, and adds commas where needed.
package struct JSONWriter: ~Copyable {
    private var bytes: ByteWriter
    /// Whether a value precedes the next one.
    private var needsComma = false

    /// Creates a writer with this capacity in bytes.
    package init(capacity: Int) { bytes = ByteWriter(capacity: capacity) }

    /// Returns the written bytes.
    package consuming func finish() -> [UInt8] { bytes.array() }

    /// Begins an array or object.
    package mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    /// Ends an array or object.
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

    /// Writes a value that is already JSON.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        bytes.append(all: json)
    }

    /// Writes a string whose content needs no escaping.
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

extension ByteWriter {
    /// Appends a string with its quotes.
    ///
    /// Only characters that require it are escaped (RFC 8259 §7).
    package mutating func jsonText(_ text: String) {
        append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { unsafe self.jsonEscaped(UnsafeRawBufferPointer($0)) }
        append(UInt8(ascii: "\""))
    }

    private mutating func jsonEscaped(_ utf8: UnsafeRawBufferPointer) {
        var (reader, plain) = (unsafe ByteReader(utf8), 0)
        while let place = reader.nextSpecial() {
            unsafe append(reader.bytes(from: plain, to: place))
            plain = place + 1
            append(UInt8(ascii: "\\"))
            switch unsafe utf8[place] {
            case UInt8(ascii: "\n"): append(UInt8(ascii: "n"))
            case UInt8(ascii: "\r"): append(UInt8(ascii: "r"))
            case UInt8(ascii: "\t"): append(UInt8(ascii: "t"))
            case let byte where byte < 0x20: append(all: "u00".utf8 + Hexadecimal.digits(byte))
            case let byte: append(byte)
            }
        }
        unsafe append(reader.bytes(from: plain, to: utf8.count))
    }

    /// Appends the digits of an integer.
    package mutating func digits(_ number: UInt64) {
        if number < 10 { return append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number)) }
        var (left, width) = (number, 1)
        while left >= 10 { (left, width) = (left / 10, width &+ 1) }
        reserve(width)
        left = number
        // Written from the last digit to the first.
        for place in stride(from: count &+ width &- 1, through: count, by: -1) {
            set(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: left % 10), at: place)
            left /= 10
        }
        count &+= width
    }

    /// Appends an integer.
    package mutating func integer(_ number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        digits(number.magnitude)
    }

    /// Appends UTF-8 text without quotes and escaping.
    package mutating func plain(_ text: String) {
        var text = text
        text.withUTF8 { unsafe self.append(UnsafeRawBufferPointer($0)) }
    }
}
