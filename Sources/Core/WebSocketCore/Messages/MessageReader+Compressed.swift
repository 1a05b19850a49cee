extension MessageReader {
    /// The event of a frame that is a whole compressed message, if it is one and its payload lies in `bytes` entirely.
    ///
    /// Most compressed messages are such; the rest come through ``readPayload(_:)``.
    mutating func compressedMessage(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        guard frame.isCompressed, frame.isFinal, delivery == .messages, bytes.count >= frame.payloadLength else { return nil }
        let (kind, keepsBytes) = (frame.opcode == .text ? MessageKind.text : .binary, keepsBytes)
        let payload = unsafe bytes.takeFirst(frame.payloadLength)
        return try unsafe inflation?.withWhole(payload, mask: frame.mask, limit: limits.message) { bytes throws(ProtocolViolation) in
            var validator = UTF8Validator()
            if kind == .text {
                guard unsafe validator.validate(bytes), validator.isComplete else { throw .invalidText }
                if !keepsBytes { return .message(.text(unsafe String(validated: bytes, isASCII: validator.isASCII))) }
            }
            let bytes = unsafe [UInt8](bytes)
            return keepsBytes ? .chunk(MessageChunk(kind: kind, bytes: bytes, isLast: true)) : .message(.binary(bytes))
        }
    }
}
