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
