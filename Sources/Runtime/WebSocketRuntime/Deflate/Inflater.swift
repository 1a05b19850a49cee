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

    /// Inflates a piece of one message and appends what comes out to `output`.
    ///
    /// Throws `messageTooBig` instead of appending more than `limit` bytes in this call, and `invalidCompressedData` for a bad stream.
    /// The array grows only as bytes come out, whatever the stream may promise.
    public func inflate(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        let end = output.end(after: limit)
        var rest = input
        while !rest.isEmpty { try advance(rest.takeZlibPart(), into: &output, upTo: end) }
    }

    /// Ends the message: feeds `00 00 FF FF` and forgets the context when takeover is off.
    ///
    /// Throws as ``inflate(_:into:limit:)`` does, and `invalidCompressedData` if the message ends inside a block.
    public func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        // Without input, or at the end of a final block, there should be one more byte (RFC 7692 §7.2.3.4, §7.2.3.6).
        // Some peers leave it out, which can mean one thing only. The tail alone would be half a block.
        if position == .inside {
            let end = output.end(after: limit)
            try withUnsafeBytes(of: UInt32(0x0000_FFFF).bigEndian) { tail throws(ProtocolViolation) in
                try advance(tail, into: &output, upTo: end)
            }
            guard position == .pastFinal || stream?.isBetweenBlocks == true else {
                throw ProtocolViolation(.invalidCompressedData, "the message ends inside a block")
            }
        }
        position = .start
        if !takesContextOver, let stream { inflateReset(stream) }
    }

    /// Runs until all input is used and all output is out.
    private func advance(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], upTo end: Int) throws(ProtocolViolation) {
        let stream = stream ?? open()
        stream.setInput(input)
        // Text often shrinks to a quarter.
        var room = input.count <= ZlibStream.smallRoom / 4 ? ZlibStream.smallRoom : ZlibStream.largeRoom
        while true {
            // At most one byte more than allowed, to see whether there is one.
            let left = end - output.count
            let status = stream.step(into: &output, room: room > left ? left + 1 : room) { CZlib.inflate($0, Z_SYNC_FLUSH) }
            guard output.count <= end else {
                output.removeLast()
                throw ProtocolViolation(.messageTooBig, "a compressed message grows beyond its limit")
            }
            switch status {
            case Z_OK, Z_BUF_ERROR:  // The second says only that nothing was left to do.
                position = .inside
                if stream.pointee.avail_out > 0 { return }
            case Z_STREAM_END:
                // BFINAL ends a stream for zlib, not for RFC 7692 §7.2.3.4: go on at the next byte with the window kept.
                inflateResetKeep(stream)
                position = .pastFinal
                if stream.pointee.avail_in == 0 { return }
            default:
                throw ProtocolViolation(.invalidCompressedData, stream.complaint ?? "zlib's inflate says \(status)")
            }
            room = ZlibStream.largeRoom
        }
    }

    private func open() -> ZlibStream {
        // A peer's zlib may have made 9 of 8, for it cannot do 8.
        let opened = ZlibStream.make { [windowBits] in CZlib_inflateInit2($0, CInt(-max(windowBits, 9))) }
        stream = opened
        return opened
    }
}

extension ZlibStream {
    /// Whether `inflate` has just ended a block that is not the last and has no bits left over.
    fileprivate var isBetweenBlocks: Bool { pointee.data_type == 128 }

    /// What zlib says is wrong, such as `invalid distance too far back`.
    fileprivate var complaint: String? { pointee.msg.map { String(cString: $0) } }
}

extension [UInt8] {
    /// How many bytes there may be once `limit` more have been appended.
    fileprivate func end(after limit: Int) -> Int { limit > Int.max - count ? Int.max : count + Swift.max(limit, 0) }
}
