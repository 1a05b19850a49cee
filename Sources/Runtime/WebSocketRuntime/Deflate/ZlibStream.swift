import CZlib
public import WebSocketCore

/// Whether and how messages are compressed with permessage-deflate (RFC 7692).
///
/// What one connection may cost in memory, in KiB; each half is allocated at the first compressed message of its direction:
///
/// | window bits | sending, memory level 9 | 8 | 5 | 1 | receiving |
/// |---|---|---|---|---|---|
/// | 15 | 390 | 262 | 150 | 135 | 40 |
/// | 12 | 278 | 150 | 38 | 23 | 12 |
/// | 9 | 264 | 136 | 24 | 9 | 8 |
///
/// Without context takeover the same memory is kept, for the next message; only what messages have in common goes unused.
public struct CompressionOptions: Hashable, Sendable {
    /// How hard to look for repetition when sending, `1...9`: from fastest to smallest; kept within that range.
    public var level: Int { didSet { level = Self.kept(level) } }
    /// How much memory to spend when sending, `1...9`; kept within that range.
    public var memoryLevel: Int { didSet { memoryLevel = Self.kept(memoryLevel) } }
    /// Messages of fewer bytes than this are sent as they are; 256 by default.
    public var threshold: Int
    /// What to agree on in the opening handshake: windows and context takeover.
    public var preferences: DeflatePreferences

    /// Makes options; by default for a server or an app with a few connections that sends mostly text.
    public init(level: Int = 6, memoryLevel: Int = 8, threshold: Int = 256, preferences: DeflatePreferences = .init()) {
        (self.level, self.memoryLevel) = (Self.kept(level), Self.kept(memoryLevel))
        (self.threshold, self.preferences) = (threshold, preferences)
    }

    private static func kept(_ level: Int) -> Int { min(max(level, 1), 9) }
}

/// Compresses the messages that one side of a connection sends (RFC 7692 §7.2.1).
///
/// Its memory, see ``CompressionOptions``, is allocated at the first message and freed with the deflater.
public final class Deflater: MessageDeflater {
    private let options: CompressionOptions
    private let windowBits: Int
    private let takesContextOver: Bool
    private var stream: ZlibStream?
    /// Whether the open message has brought any bytes yet.
    private var hasInput = false

    /// A deflater for what this side, in the role `role`, sends.
    public init(parameters: DeflateParameters, role: Role, options: CompressionOptions = .init()) {
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

    /// Compresses a piece of one message and appends what comes out to `output`, which may be nothing before the last piece.
    ///
    /// With `isLast` it flushes, removes the tail `00 00 FF FF` and forgets the context when takeover is off.
    public func deflate(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]) {
        if input.isEmpty, !hasInput {
            // RFC 7692 §7.2.3.6: an empty message is one empty block. zlib would flush nothing the second time.
            if isLast { output.append(0) }
            return
        }
        hasInput = !isLast
        let stream = stream ?? open()
        var rest = input
        // Room for most messages is taken from the stack.
        var size = input.count <= 1024 ? 1024 : 16 * 1024
        while !advance(stream, &rest, isLast: isLast, into: &output, room: size) { size = 16 * 1024 }
        guard isLast else { return }
        output.removeLast(4)  // RFC 7692 §7.2.1: the 00 00 FF FF that every flush ends with.
        if !takesContextOver { deflateReset(stream) }
    }

    /// Takes one step; whether all input is used and, with `isLast`, all output is out.
    ///
    /// The copy costs less than to clear room in the array would. There must be more than the six bytes of room below which zlib
    /// might write the flush mark twice.
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
        // zlib cannot make streams for a window of 256 bytes. Runs of one byte look back one byte only, so they fit any window.
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

    /// The most bytes that zlib is given at once; it counts with 32 bits.
    static let most = 1 << 30

    /// A stream that `open` has made ready.
    static func make(_ open: (ZlibStream) -> CInt) -> ZlibStream {
        let stream = ZlibStream.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = open(stream)
        precondition(status == Z_OK, "zlib refuses to work (\(status)): no memory, or another version than it was built for")
        return stream
    }

    /// Gives back the stream, which zlib has let go of.
    func free() {
        deinitialize(count: 1)
        deallocate()
    }

    /// Takes one step, after which `input` is what zlib has not used and `room` what it has not filled.
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

/// zlib's own record of a stream, which points back at itself and so stays at one address, on the heap.
typealias ZlibStream = UnsafeMutablePointer<z_stream>
