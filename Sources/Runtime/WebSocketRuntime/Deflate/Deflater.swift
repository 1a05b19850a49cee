import CZlib
public import WebSocketCore

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
