import CodecCore
import MachineCore

extension JSONWriter {
    /// Starts a frame of a type; the capacity is an estimate of its size in bytes.
    init(frame type: StaticString, capacity: Int) {
        self.init(capacity: capacity)
        open(UInt8(ascii: "{"))
        key("t")
        quoted { bytes in unsafe bytes.append(UnsafeRawBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount)) }
    }

    /// Ends the frame and returns its bytes.
    consuming func finishFrame() -> [UInt8] {
        close(UInt8(ascii: "}"))
        return finish()
    }

    // MARK: - Fields

    mutating func field(_ key: StaticString, _ number: Int64) {
        self.key(key)
        self.number(number)
    }

    /// Writes a number unless it is 0, the default.
    mutating func field(_ key: StaticString, unlessZero number: Int64) { if number != 0 { field(key, number) } }

    /// Writes a flag unless it is false, the default.
    mutating func field(_ key: StaticString, ifTrue flag: Bool) {
        guard flag else { return }
        self.key(key)
        self.flag(true)
    }

    mutating func field(_ key: StaticString, text: String) {
        self.key(key)
        self.text(text)
    }

    mutating func field(_ key: StaticString, raw json: [UInt8]) {
        self.key(key)
        raw(json)
    }

    /// Writes a number as 16 hexadecimal digits.
    mutating func field(_ key: StaticString, digits number: UInt64) {
        self.key(key)
        quoted { bytes in
            unsafe withUnsafeBytes(of: Hexadecimal.words(number)) { digits in unsafe bytes.append(digits) }
        }
    }

    /// Writes 128 bits as 32 hexadecimal digits.
    mutating func field(_ key: StaticString, digits bits: Bits128) {
        self.key(key)
        quoted { bytes in
            let digits = (Hexadecimal.words(bits.high), Hexadecimal.words(bits.low))
            unsafe withUnsafeBytes(of: digits) { digits in unsafe bytes.append(digits) }
        }
    }

    mutating func field(_ key: StaticString, _ device: DeviceID) { field(key, digits: device.bits) }

    mutating func field(_ key: StaticString, _ id: MessageID) {
        self.key(key)
        quoted { bytes in
            let digits = (Hexadecimal.words(id.bits.high), Hexadecimal.words(id.bits.low))
            unsafe withUnsafeBytes(of: digits) { digits in
                for (start, end) in [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)] {
                    if start > 0 { bytes.append(UInt8(ascii: "-")) }
                    unsafe bytes.append(UnsafeRawBufferPointer(rebasing: digits[start..<end]))
                }
            }
        }
    }

    mutating func field(_ payload: Payload) {
        switch payload {
        case .json(let json): field("body", raw: json)
        case .binary(let binary):
            key("bin")
            quoted { bytes in bytes.append(all: Base64.digits(binary)) }
        }
    }

    mutating func field(_ about: Reference?) {
        guard let about else { return }
        field("about") { writer in
            writer.field("kind", text: about.kind)
            writer.field("seq", about.seq)
        }
    }

    // MARK: - Lists and objects

    /// Writes a list unless it is empty.
    mutating func field<Item>(_ key: StaticString, list: [Item], _ write: (inout JSONWriter, Item) -> Void) {
        guard !list.isEmpty else { return }
        self.key(key)
        open(UInt8(ascii: "["))
        for item in list { write(&self, item) }
        close(UInt8(ascii: "]"))
    }

    mutating func field<Item>(_ key: StaticString, objects: [Item], _ write: (inout JSONWriter, Item) -> Void) {
        field(key, list: objects) { writer, item in
            writer.open(UInt8(ascii: "{"))
            write(&writer, item)
            writer.close(UInt8(ascii: "}"))
        }
    }

    mutating func field(_ key: StaticString, _ write: (inout JSONWriter) -> Void) {
        self.key(key)
        open(UInt8(ascii: "{"))
        write(&self)
        close(UInt8(ascii: "}"))
    }
}

extension Payload {
    /// Creates a JSON payload; the JSON is passed on unchanged, except for white space around it.
    ///
    /// Returns nil if the bytes are not one JSON value in UTF-8 (RFC 8259), if values are nested more than 64 levels deep, if a string
    /// contains a lone surrogate, or if a number is beyond a Double.
    public init?(json bytes: [UInt8]) {
        guard let value = Payload.value(ofJSON: bytes) else { return nil }
        self = .json(value)
    }

    /// Whether a frame can carry the payload.
    package var isReadable: Bool {
        switch self {
        case .json(let bytes): Self.value(ofJSON: bytes) != nil
        case .binary: true
        }
    }

    /// Returns the bytes of a single JSON value, without white space around it; nil if a frame cannot carry it.
    ///
    /// The white space is removed because a JSON frame would not preserve it.
    ///
    /// - Parameter isStrict: Whether lone surrogates and numbers beyond a Double are refused; a hub's log may contain old ones.
    package static func value(ofJSON bytes: [UInt8], isStrict: Bool = true) -> [UInt8]? {
        unsafe bytes.withUnsafeBytes { raw in
            var reader = unsafe FrameReader(raw)
            reader.isStrict = isStrict
            do throws(FrameError) {
                let range = try reader.range()
                try reader.finish()
                return range.count == bytes.count ? bytes : [UInt8](bytes[range])
            } catch { return nil }
        }
    }
}
