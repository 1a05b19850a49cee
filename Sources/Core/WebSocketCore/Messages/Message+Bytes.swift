extension Message {
    /// Whether it is text or binary.
    @inlinable
    package var kind: MessageKind { if case .text = self { .text } else { .binary } }

    /// The opcode of its first frame.
    @inlinable
    package var opcode: Opcode { if case .text = self { .text } else { .binary } }

    /// Calls `body` with the payload.
    ///
    /// Inlined, for otherwise the payload would be retained meanwhile.
    @inlinable @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch self {
        case .text(var text): try text.withUTF8 { unsafe try body(UnsafeRawBufferPointer($0)) }
        case .binary(let bytes): unsafe try bytes.withUnsafeBytes(body)
        }
    }
}
