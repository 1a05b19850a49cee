import WebSocketCore

/// Turns messages into frames at the end of a buffer: compressed if that was agreed, masked if we are the client.
struct FrameWriter {
    private let deflater: (any MessageDeflater)?
    private let compressedFrom: Int
    private let keys: MaskKeySource?
    /// The message being sent in pieces; its opcode until a frame has carried it.
    private var opening: Opcode?

    /// - Parameter threshold: Messages shorter than this many bytes are not compressed.
    init(role: Role, deflater: (any MessageDeflater)?, threshold: Int) {
        (self.deflater, compressedFrom) = (deflater, deflater == nil ? .max : threshold)
        keys = MaskKeySource(for: role)
    }

    /// Messages of at least this many bytes are compressed; nil: none.
    var compressionThreshold: Int? { deflater == nil ? nil : compressedFrom }

    func compresses(_ count: Int) -> Bool { count >= compressedFrom }

    /// Whether a payload of so many bytes leaves in other bytes than its own: compressed or masked.
    func changes(_ count: Int) -> Bool { keys != nil || compresses(count) }

    mutating func write(_ message: Message, into buffer: inout FrameBuffer) {
        message.withBytes { write(message.opcode, $0, into: &buffer) }
    }

    @inline(__always)
    mutating func write(_ opcode: Opcode, _ bytes: UnsafeRawBufferPointer, into buffer: inout FrameBuffer) {
        if compresses(bytes.count) { return deflate(opcode, bytes, into: &buffer) }
        buffer.writeFrame(header(opcode, payloadLength: bytes.count), bytes)
    }

    private mutating func deflate(_ opcode: Opcode, _ bytes: UnsafeRawBufferPointer, into buffer: inout FrameBuffer) {
        guard let deflater else { return }
        var output: [UInt8] = []
        deflater.deflate(bytes, isLast: true, into: &output)
        output.withUnsafeBytes { buffer.writeFrame(header(opcode, isCompressed: true, payloadLength: $0.count), $0) }
    }

    mutating func write(_ chunk: MessageChunk, isFirst: Bool, into buffer: inout FrameBuffer) {
        if isFirst { opening = chunk.kind == .text ? .text : .binary }
        chunk.bytes.withUnsafeBytes { bytes in
            guard let deflater else { return writePiece(bytes, isLast: chunk.isLast, isCompressed: false, into: &buffer) }
            var compressed: [UInt8] = []
            deflater.deflate(bytes, isLast: chunk.isLast, into: &compressed)
            // The compressor may keep a piece back; a frame without payload would say nothing.
            guard chunk.isLast || !compressed.isEmpty else { return }
            compressed.withUnsafeBytes { writePiece($0, isLast: chunk.isLast, isCompressed: true, into: &buffer) }
        }
    }

    /// Control frames are never compressed (RFC 7692 §6.1).
    mutating func writeControl(_ opcode: Opcode, _ payload: [UInt8], into buffer: inout FrameBuffer) {
        payload.withUnsafeBytes { buffer.writeFrame(header(opcode, payloadLength: $0.count), $0) }
    }

    /// The header of a frame to be written now; its key, if it has one, is used by nothing else.
    @inline(__always)
    mutating func header(_ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, payloadLength: Int) -> FrameHeader {
        FrameHeader(opcode, isFinal: isFinal, isCompressed: isCompressed, mask: keys?.next(), payloadLength: payloadLength)
    }

    private mutating func writePiece(_ bytes: UnsafeRawBufferPointer, isLast: Bool, isCompressed: Bool, into buffer: inout FrameBuffer) {
        // RFC 7692 §6.1: only a message's first frame carries RSV1.
        let opcode = opening ?? .continuation
        buffer.writeFrame(
            header(opcode, isFinal: isLast, isCompressed: isCompressed && opening != nil, payloadLength: bytes.count), bytes)
        opening = nil
    }
}
