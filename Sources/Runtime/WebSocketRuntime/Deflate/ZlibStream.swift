import CZlib
public import WebSocketCore

/// The options of message compression with permessage-deflate (RFC 7692).
///
/// The memory of one connection in KiB; the memory of each direction is allocated at its first compressed message:
///
/// | window bits | sending, memory level 9 | 8 | 5 | 1 | receiving |
/// |---|---|---|---|---|---|
/// | 15 | 390 | 262 | 150 | 135 | 40 |
/// | 12 | 278 | 150 | 38 | 23 | 12 |
/// | 9 | 264 | 136 | 24 | 9 | 8 |
///
/// Without context takeover the same memory is kept for the next message, but repetitions across messages are not used.
public struct CompressionOptions: Hashable, Sendable {
    /// The effort to find repetitions when sending, `1...9`, from fastest to smallest; values are clamped to that range.
    public var level: Int { didSet { level = Self.kept(level) } }
    /// The memory to use when sending, `1...9`; values are clamped to that range.
    public var memoryLevel: Int { didSet { memoryLevel = Self.kept(memoryLevel) } }
    /// The minimum size of a message in bytes to be compressed; 256 by default.
    public var threshold: Int
    /// The preferences for the negotiation in the opening handshake: window sizes and context takeover.
    public var preferences: DeflatePreferences

    /// Creates options; the defaults suit a server, or an app with a few connections that sends mostly text.
    public init(level: Int = 6, memoryLevel: Int = 8, threshold: Int = 256, preferences: DeflatePreferences = .init()) {
        (self.level, self.memoryLevel) = (Self.kept(level), Self.kept(memoryLevel))
        (self.threshold, self.preferences) = (threshold, preferences)
    }

    private static func kept(_ level: Int) -> Int { min(max(level, 1), 9) }
}

/// Compresses the messages that one side of a connection sends (RFC 7692 §7.2.1).
///
/// Its memory, see ``CompressionOptions``, is allocated at the first message and freed with the deflater.
package final class Deflater: MessageDeflater {
    private let options: CompressionOptions
    private let windowBits: Int
    private let takesContextOver: Bool
    private var stream: ZlibStream?
    /// Whether the open message has had any bytes yet.
    private var hasInput = false

    /// Creates a deflater for the messages that this side, in the role `role`, sends.
    package init(parameters: DeflateParameters, role: Role, options: CompressionOptions = .init()) {
        self.options = options
        switch role {
        case .client:
            (windowBits, takesContextOver) = (parameters.clientMaxWindowBits, !parameters.clientNoContextTakeover)
        case .server:
            (windowBits, takesContextOver) = (parameters.serverMaxWindowBits, !parameters.serverNoContextTakeover)
        }
    }

    deinit {
        guard let stream else { return }
        deflateEnd(stream)
        stream.free()
    }

    /// Compresses a piece of one message and appends the result to `output`; the result may be empty before the last piece.
    ///
    /// With `isLast` it flushes, removes the tail `00 00 FF FF`, and resets the context if context takeover is off.
    package func deflate(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) {
        if input.isEmpty, !hasInput {
            // RFC 7692 §7.2.3.6: an empty message is one empty block. zlib would output nothing for the second flush.
            if isLast { output.append(0) }
            return
        }
        hasInput = !isLast
        let stream = stream ?? open()
        var rest = input
        // A stack buffer is large enough for most messages.
        var size = input.count <= 1024 ? 1024 : 16 * 1024
        while !advance(stream, &rest, isLast: isLast, into: &output, room: size) { size = 16 * 1024 }
        guard isLast else { return }
        output.removeLast(4)  // RFC 7692 §7.2.1: every flush ends with 00 00 FF FF.
        if !takesContextOver { deflateReset(stream) }
    }

    /// Runs one step; returns whether all input is used and, with `isLast`, all output is written.
    ///
    /// Copying the output costs less than clearing room in the array would. The room must be more than six bytes, because with less zlib
    /// might write the flush marker twice.
    private func advance(
        _ stream: ZlibStream, _ rest: inout UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8], room: Int
    ) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: room, alignment: 16) { room in
            let flush = isLast && rest.count <= ZlibStream.most ? Z_SYNC_FLUSH : Z_NO_FLUSH
            var free = room
            let status = stream.step(&rest, into: &free) { CZlib.deflate($0, flush) }
            precondition(status == Z_OK || status == Z_BUF_ERROR, "zlib's deflate failed: \(status)")
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<(room.count - free.count)]))
            return rest.isEmpty && !free.isEmpty
        }
    }

    private func open() -> ZlibStream {
        // zlib cannot create streams for a window of 256 bytes. Runs of one byte look back only one byte, so they fit any window.
        let isTiny = windowBits < 9
        let opened = ZlibStream.make { [options, windowBits] in
            CZlib_deflateInit2(
                $0, CInt(options.level), CInt(isTiny ? -9 : -windowBits), CInt(options.memoryLevel), isTiny ? Z_RLE : Z_DEFAULT_STRATEGY)
        }
        stream = opened
        return opened
    }
}

/// Decompresses the messages that one side of a connection receives (RFC 7692 §7.2.2).
///
/// Its memory, see ``CompressionOptions``, is allocated at the first compressed message and freed with the inflater. After an inflater
/// has thrown an error, it must not be used any more.
package final class Inflater: MessageInflater {
    private let windowBits: Int
    private let takesContextOver: Bool
    private var stream: ZlibStream?
    private var position = Position.start

    /// The position of the stream in the open message.
    private enum Position {
        /// No byte of the message has arrived. → `inside` or `pastFinal` with the first ones.
        case start
        /// In a block or between two blocks. → `pastFinal` when a block with BFINAL ends, → `start` when the message ends.
        case inside
        /// Directly after a block with BFINAL. → `inside` when more bytes arrive, → `start` when the message ends.
        case pastFinal
    }

    /// Creates an inflater for the messages that this side, in the role `role`, receives.
    package init(parameters: DeflateParameters, role: Role) {
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

    /// Inflates a piece of one message into `room`, as far as possible; see ``MessageInflater``.
    package func inflate(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) {
        while true {
            // Without input, or at the end of a final block, there should be one more byte (RFC 7692 §7.2.3.4, §7.2.3.6). Some peers
            // leave it out, which is unambiguous. The tail alone would be half a block.
            if position != .inside, input.isEmpty || isLast && input.count == 4 { break }
            try advance(&input, into: &room)
            if input.isEmpty, isBetweenBlocks || !room.isEmpty { break }
            if room.isEmpty { return }
        }
        if isLast { try end(&input) }
    }

    /// Runs until zlib has used all input or all room, or has reached the end of a final block.
    private func advance(
        _ input: inout UnsafeRawBufferPointer, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation) {
        let stream = stream ?? open()
        let status = stream.step(&input, into: &room) { CZlib.inflate($0, Z_SYNC_FLUSH) }
        switch status {
        case Z_OK, Z_BUF_ERROR:  // Z_BUF_ERROR only means that nothing was left to do.
            position = .inside
        case Z_STREAM_END:
            // BFINAL ends a stream for zlib, but not for RFC 7692 §7.2.3.4: continue at the next byte and keep the window.
            inflateResetKeep(stream)
            position = .pastFinal
        default:
            throw ProtocolViolation(.invalidCompressedData, stream.complaint ?? "zlib's inflate failed: \(status)")
        }
    }

    /// Whether a block has just ended without leftover bits, so that more output needs more input.
    private var isBetweenBlocks: Bool {
        // zlib reports this only once: it forgets it when it is called again without input.
        position == .pastFinal || position == .inside && stream?.pointee.data_type == 128
    }

    /// Ends the message, whose tail may be left in the input, and resets the context if context takeover is off.
    private func end(_ input: inout UnsafeRawBufferPointer) throws(ProtocolViolation) {
        guard position != .inside || isBetweenBlocks else {
            throw ProtocolViolation(.invalidCompressedData, "the message ends inside a block")
        }
        input = UnsafeRawBufferPointer(rebasing: input[input.count...])
        position = .start
        if !takesContextOver, let stream { inflateReset(stream) }
    }

    private func open() -> ZlibStream {
        // A peer's zlib may have used 9 instead of 8, because zlib does not support 8.
        let opened = ZlibStream.make { [windowBits] in CZlib_inflateInit2($0, CInt(-max(windowBits, 9))) }
        stream = opened
        return opened
    }
}

extension ZlibStream {
    /// zlib's error message, such as `invalid distance too far back`.
    fileprivate var complaint: String? { pointee.msg.map { String(cString: $0) } }

    /// The maximum number of bytes that zlib gets at once, because it counts with 32 bits.
    static let most = 1 << 30

    /// Allocates a stream and initialises it with `open`.
    static func make(_ open: (ZlibStream) -> CInt) -> ZlibStream {
        let stream = ZlibStream.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = open(stream)
        precondition(status == Z_OK, "zlib could not be initialised (\(status)): no memory, or a different version than at build time")
        return stream
    }

    /// Frees the stream, after zlib has released its resources.
    func free() {
        deinitialize(count: 1)
        deallocate()
    }

    /// Runs one step; afterwards `input` is what zlib has not consumed, and `room` what it has not filled.
    func step(
        _ input: inout UnsafeRawBufferPointer, into room: inout UnsafeMutableRawBufferPointer, _ step: (ZlibStream) -> CInt
    ) -> CInt {
        let (given, offered) = (Swift.min(input.count, Self.most), Swift.min(room.count, Self.most))
        pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        pointee.avail_in = UInt32(given)
        pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        pointee.avail_out = UInt32(offered)
        let status = step(self)
        input = UnsafeRawBufferPointer(rebasing: input[(given - Int(pointee.avail_in))...])
        room = UnsafeMutableRawBufferPointer(rebasing: room[(offered - Int(pointee.avail_out))...])
        return status
    }
}

/// zlib's record of a stream, which points to itself and so must stay at one address, on the heap.
typealias ZlibStream = UnsafeMutablePointer<z_stream>
