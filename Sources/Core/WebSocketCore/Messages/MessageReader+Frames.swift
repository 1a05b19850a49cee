extension MessageReader {
    /// Checks what a header alone can tell: masking, order of fragments, limits.
    mutating func admitFrame() throws(ProtocolViolation) {
        switch (role, frame.mask) {
        case (.server, nil): throw ProtocolViolation(.missingMask, "a client must mask every frame")
        case (.client, .some): throw ProtocolViolation(.unexpectedMask, "a server must not mask")
        case (.server, .some), (.client, nil): break
        }
        if frame.opcode.isControl { return }
        // RFC 6455 §5.4: fragments of two messages are never mixed.
        if frame.opcode == .continuation {
            guard message.isOpen else { throw ProtocolViolation(.unexpectedContinuation, "no message is open") }
        } else {
            guard !message.isOpen else { throw ProtocolViolation(.expectedContinuation, "the last message has not ended") }
        }
        // First, for it is the limit that apps know; that of a frame follows it. A compressed payload says nothing of the message's length; inflating counts it.
        guard frame.isCompressed || message.isCompressed || frame.payloadLength <= limits.message - message.byteCount else {
            let earlier = message.byteCount == 0 ? "" : " after \(message.byteCount)"
            throw ProtocolViolation(
                .messageTooBig, "\(frame.payloadLength) bytes\(earlier), at most \(limits.message) are allowed (limits.message)")
        }
        guard frame.payloadLength <= limits.frame else {
            throw ProtocolViolation(
                .messageTooBig, "a frame of \(frame.payloadLength) bytes, at most \(limits.frame) are allowed (limits.frame)")
        }
        guard message.frames < limits.fragments else {
            throw ProtocolViolation(.tooManyFragments, "more than \(limits.fragments) frames in one message")
        }
    }

    /// Gets ready for a payload that comes in pieces, or is compressed, or is a fragment's or a control frame's.
    mutating func openFrame() {
        (phase, received) = (.payload, 0)
        if frame.opcode.isControl { return }
        if frame.opcode != .continuation { message.open(frame.opcode == .text ? .text : .binary, isCompressed: frame.isCompressed) }
        if message.bytes.capacity == 0 { swap(&message.bytes, &spare) }
        message.frames += 1
    }
}

extension ProtocolViolation {
    static var invalidText: ProtocolViolation { ProtocolViolation(.invalidUTF8, "a text message (RFC 6455 §8.1)") }
}
