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

    @inlinable
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
    public func unmaskInPlace() throws(ProtocolViolation) {
        unmask()
        if kind == .text { _ = unsafe try Self.check(payload) }
    }

    /// The message in storage of its own, like ``message()``, but unmasked where it lies if it is short: that is cheaper.
    ///
    /// Nobody else may use the bytes it was found in, for they change.
    public func consumedMessage() throws(ProtocolViolation) -> Message {
        guard unsafe payload.count <= 4096 else { return try message() }
        unmask()
        // Copying a sequence is what the standard library does fastest.
        guard kind == .text else { return unsafe .binary([UInt8](payload)) }
        return unsafe .text(String(validated: payload, isASCII: try Self.check(payload).isASCII))
    }

    private func unmask() {
        if let mask { unsafe mask.apply(to: UnsafeMutableRawBufferPointer(mutating: payload)) }
    }

    private static func check(_ text: UnsafeRawBufferPointer) throws(ProtocolViolation) -> UTF8Validator {
        var validator = UTF8Validator()
        guard unsafe validator.validate(text), validator.isComplete else { throw .invalidText }
        return validator
    }
}
