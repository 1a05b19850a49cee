import CZlib
public import WebSocketCore

/// Decompresses the messages that one side of a connection receives (RFC 7692 §7.2.2).
///
/// Its memory, see ``CompressionOptions``, is allocated at the first compressed message and freed with the inflater.
/// After it has thrown, an inflater is of no more use.
public final class Inflater: MessageInflater {
    private let windowBits: Int
    private let takesContextOver: Bool
    private var stream: ZlibStream?
    private var position = Position.start

    /// Where in the open message the stream is.
    private enum Position {
        /// No byte of it has come. → `inside` or `pastFinal` with the first ones.
        case start
        /// In a block or between two. → `pastFinal` when a block with BFINAL ends, → `start` when the message ends.
        case inside
        /// Just behind a block with BFINAL. → `inside` when more comes, → `start` when the message ends.
        case pastFinal
    }

    /// An inflater for what this side, in the role `role`, receives.
    public init(parameters: DeflateParameters, role: Role) {
        switch role {
        case .client: (windowBits, takesContextOver) = (parameters.serverMaxWindowBits, !parameters.serverNoContextTakeover)
        case .server: (windowBits, takesContextOver) = (parameters.clientMaxWindowBits, !parameters.clientNoContextTakeover)
        }
    }

    deinit {
        guard let stream else { return }
        inflateEnd(stream)
        stream.free()
    }

    /// Inflates a piece of one message into `room`, as far as that goes; see ``MessageInflater``.
    public func inflate(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) {
        while true {
            // Without input, or at the end of a final block, there should be one more byte (RFC 7692 §7.2.3.4, §7.2.3.6).
            // Some peers leave it out, which can mean one thing only. The tail alone would be half a block.
            if position != .inside, input.isEmpty || isLast && input.count == 4 { break }
            try advance(&input, into: &room)
            if input.isEmpty, isBetweenBlocks || !room.isEmpty { break }
            if room.isEmpty { return }
        }
        if isLast { try end(&input) }
    }

    /// Runs until zlib has used all input, or all room, or has come to the end of a final block.
    private func advance(
        _ input: inout UnsafeRawBufferPointer, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) {
        let stream = stream ?? open()
        let status = stream.step(&input, into: &room) { CZlib.inflate($0, Z_SYNC_FLUSH) }
        switch status {
        case Z_OK, Z_BUF_ERROR:  // The second says only that nothing was left to do.
            position = .inside
        case Z_STREAM_END:
            // BFINAL ends a stream for zlib, not for RFC 7692 §7.2.3.4: go on at the next byte with the window kept.
            inflateResetKeep(stream)
            position = .pastFinal
        default:
            throw ProtocolViolation(.invalidCompressedData, stream.complaint ?? "zlib's inflate says \(status)")
        }
    }

    /// Whether a block has just ended, with no bits left over, so that nothing more comes out without more input.
    private var isBetweenBlocks: Bool {
        // zlib says so once only: called again without input it forgets it.
        position == .pastFinal || position == .inside && stream?.pointee.data_type == 128
    }

    /// Ends the message, whose tail may be left in the input, and forgets the context when takeover is off.
    private func end(_ input: inout UnsafeRawBufferPointer) throws(ProtocolViolation) {
        guard position != .inside || isBetweenBlocks else {
            throw ProtocolViolation(.invalidCompressedData, "the message ends inside a block")
        }
        input = UnsafeRawBufferPointer(rebasing: input[input.count...])
        position = .start
        if !takesContextOver, let stream { inflateReset(stream) }
    }

    private func open() -> ZlibStream {
        // A peer's zlib may have made 9 of 8, for it cannot do 8.
        let opened = ZlibStream.make { [windowBits] in CZlib_inflateInit2($0, CInt(-max(windowBits, 9))) }
        stream = opened
        return opened
    }
}

extension ZlibStream {
    /// What zlib says is wrong, such as `invalid distance too far back`.
    fileprivate var complaint: String? { pointee.msg.map { String(cString: $0) } }
}
