extension MessageReader {
    /// Returns the next frame if it is a whole uncompressed message and lies completely in `bytes`, and advances `bytes` past it.
    ///
    /// This is the fast path: most frames of most connections are such messages. If it returns nil, call ``next(_:)``, which handles all
    /// other cases and detects violations.
    @inlinable @inline(__always)
    public mutating func nextLone(_ bytes: inout UnsafeRawBufferPointer) -> LoneFrame? {
        let available = bytes.count
        guard takesLone, available >= 2, let base = bytes.baseAddress else { return nil }
        let (first, second) = unsafe (base.load(as: UInt8.self), base.load(fromByteOffset: 1, as: UInt8.self))
        let maskBit: UInt8 = role == .server ? 0x80 : 0
        // FIN without RSV, text or binary; masked exactly if required (RFC 6455 §5.1, §5.2).
        guard first == 0x81 || first == 0x82, second & 0x80 == maskBit else { return nil }
        var (count, offset) = (Int(second & 0x7F), 2)
        if count == 126 {
            guard available >= 4 else { return nil }
            count = Int(UInt16(bigEndian: unsafe base.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard count > 125 else { return nil }
            offset = 4
        } else if count == 127 {
            guard available >= 10 else { return nil }
            let long = UInt64(bigEndian: unsafe base.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard long > 0xFFFF, long <= UInt64(available) else { return nil }
            (count, offset) = (Int(long), 10)
        }
        let header = offset &+ (maskBit == 0 ? 0 : 4)
        guard count <= longestLone, available &- header >= count else { return nil }
        let mask = maskBit == 0 ? nil : MaskKey(bits: unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let payload = unsafe UnsafeRawBufferPointer(start: base + header, count: count)
        unsafe bytes = UnsafeRawBufferPointer(start: base + header + count, count: available &- header &- count)
        return unsafe LoneFrame(kind: first == 0x81 ? .text : .binary, mask: mask, payload: payload)
    }

    /// Returns the total length of the frame at the start of `bytes` if ``nextLone(_:)`` will accept it once it is complete.
    ///
    /// A caller with enough buffer space can keep the bytes and read the rest after them, instead of passing a part. Nil if the header is
    /// incomplete, belongs to another type of frame, or announces more than is allowed.
    public func lengthOfLone(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard takesLone, let (header, length) = try? unsafe FrameHeader.parse(bytes, allowsCompression: false) else { return nil }
        guard header.isFinal, header.opcode == .text || header.opcode == .binary else { return nil }
        guard (header.mask != nil) == (role == .server), header.payloadLength <= min(longestLone, .max - length) else { return nil }
        return length + header.payloadLength
    }
}

/// A complete message in one uncompressed frame, as it lies in the read bytes: still masked, and its text not yet validated.
///
/// The payload is borrowed: it is valid as long as the bytes in which it was found.
@safe public struct LoneFrame {
    /// Whether it is text or binary.
    public let kind: MessageKind
    /// The key that masks the payload; nil if it is not masked.
    public let mask: MaskKey?
    /// The payload as received.
    public let payload: UnsafeRawBufferPointer

    @inlinable @inline(__always)
    init(kind: MessageKind, mask: MaskKey?, payload: UnsafeRawBufferPointer) {
        unsafe (self.kind, self.mask, self.payload) = (kind, mask, payload)
    }

    /// Returns the message in its own storage, unmasked.
    ///
    /// Throws `invalidUTF8` for text that is not valid UTF-8 (RFC 6455 §8.1).
    public func message() throws(ProtocolViolation) -> Message {
        let (count, mask) = unsafe (payload.count, mask)
        if kind == .binary {
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { storage, initialized in
                unsafe payload.copy(to: UnsafeMutableRawBufferPointer(storage), mask: mask, phase: 0)
                initialized = count
            }
            return .binary(bytes)
        }
        return unsafe try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { storage throws(ProtocolViolation) in
            unsafe payload.copy(to: storage, mask: mask, phase: 0)
            let text = unsafe UnsafeRawBufferPointer(start: storage.baseAddress, count: count)
            return .text(unsafe String(validated: text, isASCII: try Self.check(text).isASCII))
        }
    }

    /// Unmasks the payload in place and validates its text.
    ///
    /// No other code may use the bytes in which it was found, because they change. Throws as ``message()`` does.
    @inlinable @inline(__always)
    public func unmaskInPlace() throws(ProtocolViolation) {
        unmask()
        if kind == .text { try checkText() }
    }

    /// Unmasks the payload into `destination`, which must have room for it, and validates its text; returns whether it is ASCII.
    ///
    /// Throws as ``message()`` does.
    @inlinable @inline(__always)
    public func unmask(into destination: UnsafeMutableRawPointer) throws(ProtocolViolation) -> Bool {
        let copy = unsafe UnsafeMutableRawBufferPointer(start: destination, count: payload.count)
        if let mask { unsafe mask.copy(payload, to: copy) } else { unsafe copy.copyMemory(from: payload) }
        return kind == .binary ? false : unsafe try Self.isASCII(UnsafeRawBufferPointer(copy))
    }

    @usableFromInline
    static func isASCII(_ text: UnsafeRawBufferPointer) throws(ProtocolViolation) -> Bool { unsafe try check(text).isASCII }

    @inlinable @inline(__always)
    func unmask() {
        if let mask { unsafe mask.apply(to: UnsafeMutableRawBufferPointer(mutating: payload)) }
    }

    @usableFromInline
    func checkText() throws(ProtocolViolation) { _ = unsafe try Self.check(payload) }

    private static func check(_ text: UnsafeRawBufferPointer) throws(ProtocolViolation) -> UTF8Validator {
        var validator = UTF8Validator()
        guard unsafe validator.validate(text), validator.isComplete else { throw .invalidText }
        return validator
    }
}
