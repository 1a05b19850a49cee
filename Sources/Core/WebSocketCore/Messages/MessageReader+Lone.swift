extension MessageReader {
    /// The next frame if it is a whole uncompressed message that lies in `bytes` entirely, which then move on past it.
    ///
    /// The fast path: most frames of most connections are such. For nil, ``next(_:)`` knows what it is: it finds the violations, too.
    @inlinable @inline(__always)
    public mutating func nextLone(_ bytes: inout UnsafeRawBufferPointer) -> LoneFrame? {
        let available = bytes.count
        guard takesLone, available >= 2, let base = bytes.baseAddress else { return nil }
        let (first, second) = unsafe (base.load(as: UInt8.self), base.load(fromByteOffset: 1, as: UInt8.self))
        let maskBit: UInt8 = role == .server ? 0x80 : 0
        // FIN without RSV, on text or binary; masked just when it has to be (RFC 6455 §5.1, §5.2).
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

    /// How many bytes the frame takes that begins with `bytes`, header and all, if ``nextLone(_:)`` will take it once they are there.
    ///
    /// Whoever has a place for them may keep the bytes there and read the rest behind them, instead of handing over a part.
    /// Nil when the header is not whole or not that of such a frame, or announces more than is allowed.
    public func lengthOfLone(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard takesLone, let (header, length) = try? unsafe FrameHeader.parse(bytes, allowsCompression: false) else { return nil }
        guard header.isFinal, header.opcode == .text || header.opcode == .binary else { return nil }
        guard (header.mask != nil) == (role == .server), header.payloadLength <= min(longestLone, .max - length) else { return nil }
        return length + header.payloadLength
    }
}

/// A whole message in one uncompressed frame, as it lies in the bytes read: still masked, and its text not yet checked.
///
/// Its payload is borrowed: it is valid for as long as the bytes it was found in.
@safe public struct LoneFrame {
    /// Whether it is text or binary.
    public let kind: MessageKind
    /// The key that its payload is masked with; nil when it is not masked.
    public let mask: MaskKey?
    /// The payload as it came.
    public let payload: UnsafeRawBufferPointer

    @inlinable @inline(__always)
    init(kind: MessageKind, mask: MaskKey?, payload: UnsafeRawBufferPointer) {
        unsafe (self.kind, self.mask, self.payload) = (kind, mask, payload)
    }

    /// The message in storage of its own, unmasked on the way there.
    ///
    /// Throws `invalidUTF8` for a text that is none (RFC 6455 §8.1).
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

    /// Unmasks the payload where it lies and checks its text.
    ///
    /// Nobody else may use the bytes it was found in, for they change. Throws as ``message()`` does.
    @inlinable @inline(__always)
    public func unmaskInPlace() throws(ProtocolViolation) {
        unmask()
        if kind == .text { try checkText() }
    }

    /// Unmasks the payload into `destination`, which has room for it, and checks its text; says whether it is ASCII.
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
