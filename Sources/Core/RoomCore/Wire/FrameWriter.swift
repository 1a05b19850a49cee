import CodecCore
import MachineCore

/// Writes the JSON of a frame, without white space, straight into its bytes.
struct FrameWriter {
    private(set) var bytes: [UInt8] = []
    /// A value stands before the next one.
    private var needsComma = false

    /// Begins a frame of a type; room is made for about so many bytes.
    init(_ type: StaticString, capacity: Int) {
        bytes.reserveCapacity(capacity)
        put("{\"t\":\"")
        put(type)
        put("\"")
        needsComma = true
    }

    /// Ends the frame, and takes its bytes away.
    mutating func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        var finished: [UInt8] = []
        // Returned as they are they would be copied.
        swap(&finished, &bytes)
        return finished
    }

    // MARK: - Fields

    mutating func field(_ key: StaticString, _ number: Int64) {
        self.key(key)
        append(number)
    }

    /// A number that is left out at its default.
    mutating func field(_ key: StaticString, unlessZero number: Int64) { if number != 0 { field(key, number) } }

    /// A flag that is left out at its default.
    mutating func field(_ key: StaticString, ifTrue flag: Bool) {
        guard flag else { return }
        self.key(key)
        put("true")
    }

    mutating func field(_ key: StaticString, text: String) {
        self.key(key)
        append(text)
    }

    mutating func field(_ key: StaticString, raw json: [UInt8]) {
        self.key(key)
        bytes.append(contentsOf: json)
    }

    /// 16 hexadecimal digits.
    mutating func field(_ key: StaticString, digits number: UInt64) {
        self.key(key)
        bytes.append(UInt8(ascii: "\""))
        unsafe withUnsafeBytes(of: Hexadecimal.words(number)) { digits in unsafe bytes.append(contentsOf: digits) }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func field(_ key: StaticString, _ device: DeviceID) { field(key, digits: device.bits) }

    /// 32 hexadecimal digits.
    mutating func field(_ key: StaticString, digits bits: Bits128) {
        self.key(key)
        bytes.append(UInt8(ascii: "\""))
        let digits = (Hexadecimal.words(bits.high), Hexadecimal.words(bits.low))
        unsafe withUnsafeBytes(of: digits) { digits in unsafe bytes.append(contentsOf: digits) }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func field(_ key: StaticString, _ id: MessageID) {
        self.key(key)
        bytes.append(UInt8(ascii: "\""))
        let digits = (Hexadecimal.words(id.bits.high), Hexadecimal.words(id.bits.low))
        unsafe withUnsafeBytes(of: digits) { digits in
            for (start, end) in [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)] {
                if start > 0 { bytes.append(UInt8(ascii: "-")) }
                unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[start..<end]))
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func field(_ payload: Payload) {
        switch payload {
        case .json(let json): field("body", raw: json)
        case .binary(let binary):
            key("bin")
            bytes.append(UInt8(ascii: "\""))
            bytes += Base64.digits(binary)
            bytes.append(UInt8(ascii: "\""))
        }
    }

    mutating func field(_ about: Reference?) {
        guard let about else { return }
        key("about")
        open(UInt8(ascii: "{"))
        field("kind", text: about.kind)
        field("seq", about.seq)
        close(UInt8(ascii: "}"))
    }

    // MARK: - Lists and objects

    /// A list, which is left out if it is empty.
    mutating func field<Item>(_ key: StaticString, list: [Item], _ write: (inout FrameWriter, Item) -> Void) {
        guard !list.isEmpty else { return }
        self.key(key)
        open(UInt8(ascii: "["))
        for item in list {
            separate()
            write(&self, item)
            needsComma = true
        }
        close(UInt8(ascii: "]"))
    }

    mutating func field<Item>(_ key: StaticString, objects: [Item], _ write: (inout FrameWriter, Item) -> Void) {
        field(key, list: objects) { writer, item in
            writer.open(UInt8(ascii: "{"))
            write(&writer, item)
            writer.close(UInt8(ascii: "}"))
        }
    }

    mutating func field(_ key: StaticString, _ write: (inout FrameWriter) -> Void) {
        self.key(key)
        open(UInt8(ascii: "{"))
        write(&self)
        close(UInt8(ascii: "}"))
    }

    // MARK: - Bytes

    private mutating func key(_ key: StaticString) {
        bytes.append(needsComma ? UInt8(ascii: ",") : UInt8(ascii: "\""))
        if needsComma { bytes.append(UInt8(ascii: "\"")) }
        put(key)
        put("\":")
        needsComma = true
    }

    private mutating func separate() { if needsComma { bytes.append(UInt8(ascii: ",")) } }

    private mutating func open(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func put(_ text: StaticString) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ number: Int64) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        var (left, count) = (number.magnitude, 1)
        while left >= 10 { (left, count) = (left / 10, count + 1) }
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: count))
        // The digits come from the last to the first.
        (left, count) = (number.magnitude, bytes.count - 1)
        while left > 0 {
            bytes[count] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: left % 10)
            (left, count) = (left / 10, count - 1)
        }
    }

    private mutating func append(digit: UInt8) {
        bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + (digit - 10))
    }

    /// Appends a string with its quotes; only what must be escaped is, RFC 8259 §7.
    mutating func append(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            for byte in text.utf8 { append(escaping: byte) }
        } else {
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20:
            put("\\u00")
            append(digit: byte >> 4)
            append(digit: byte & 15)
        default: bytes.append(byte)
        }
    }
}
