extension MessageReader {
    /// Reads what is there of the frame's payload; the event that this completes, if any.
    mutating func readPayload(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        if frame.opcode.isControl { return try unsafe readControl(&bytes) }
        var available = min(frame.payloadLength - received, bytes.count)
        // A chunk is what one piece inflates to, so a bomb cannot make a chunk of more than some 8 MB.
        if message.isCompressed, delivery == .chunks { available = min(available, Inflation.pieceLength) }
        let piece = unsafe bytes.takeFirst(available)
        let start = message.bytes.count
        if message.isCompressed {
            let limit = limits.message - message.byteCount
            try unsafe inflation?.inflate(piece, mask: frame.mask, phase: received, into: &message.bytes, limit: limit)
        } else {
            unsafe message.bytes.append(piece, mask: frame.mask, phase: received, expecting: frame.payloadLength - received)
        }
        received += available
        try message.admitBytes(from: start)

        guard received == frame.payloadLength else { return delivery == .chunks ? nextChunk(isLast: false) : nil }
        phase = .header
        guard frame.isFinal else { return delivery == .chunks ? nextChunk(isLast: false) : nil }
        if message.isCompressed {
            let start = message.bytes.count
            try inflation?.finish(into: &message.bytes, limit: limits.message - message.byteCount)
            try message.admitBytes(from: start)
        }
        guard message.validator.isComplete else { throw .invalidText }
        if delivery == .chunks || keepsBytes {
            defer { message.close() }
            return nextChunk(isLast: true)
        }
        return .message(message.takeWhole())
    }

    /// The bytes that have come since the last chunk; nil when there are none and the message goes on.
    private mutating func nextChunk(isLast: Bool) -> Event? {
        if message.bytes.isEmpty, !isLast { return nil }
        return .chunk(MessageChunk(kind: message.kind, bytes: message.takeBytes(), isLast: isLast))
    }

    private mutating func readControl(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) -> Event? {
        let piece = unsafe bytes.takeFirst(min(frame.payloadLength - received, bytes.count))
        unsafe control.append(piece, mask: frame.mask, phase: received, expecting: frame.payloadLength - received)
        received += piece.count
        guard received == frame.payloadLength else { return nil }
        phase = .header
        defer { control = [] }
        switch frame.opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        default:
            let close = try unsafe control.withUnsafeBufferPointer { payload throws(ProtocolViolation) in
                try unsafe CloseFrame(payload: UnsafeRawBufferPointer(payload))
            }
            (phase, message) = (.finished, PartialMessage())
            return .close(close)
        }
    }
}
