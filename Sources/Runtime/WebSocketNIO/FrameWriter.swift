import NIOCore
import WebSocketCore

/// Turns messages into frames at the end of a buffer: compressed if that was agreed, masked if we are the client.
struct FrameWriter {
    private let role: Role
    private let deflater: (any MessageDeflater)?
    private let threshold: Int
    private var keys = MaskKeySource()
    private var compressed: [UInt8] = []
    /// The message being sent in pieces; its opcode until a frame has carried it.
    private var opening: Opcode?

    /// - Parameter threshold: Messages shorter than this many bytes are not compressed.
    init(role: Role, deflater: (any MessageDeflater)?, threshold: Int) {
        (self.role, self.deflater, self.threshold) = (role, deflater, threshold)
    }

    mutating func write(_ message: Message, into buffer: inout ByteBuffer) {
        switch message {
        case .text(var text): text.withUTF8 { writeMessage(.text, UnsafeRawBufferPointer($0), into: &buffer) }
        case .binary(let bytes): bytes.withUnsafeBytes { writeMessage(.binary, $0, into: &buffer) }
        }
    }

    mutating func write(_ chunk: MessageChunk, isFirst: Bool, into buffer: inout ByteBuffer) {
        if isFirst { opening = chunk.kind == .text ? .text : .binary }
        chunk.bytes.withUnsafeBytes { bytes in
            guard let deflater else { return writePiece(bytes, isLast: chunk.isLast, isCompressed: false, into: &buffer) }
            compressed.removeAll(keepingCapacity: true)
            deflater.deflate(bytes, isLast: chunk.isLast, into: &compressed)
            // The compressor may keep a piece back; a frame without payload would say nothing.
            guard chunk.isLast || !compressed.isEmpty else { return }
            let pieces = compressed
            pieces.withUnsafeBytes { writePiece($0, isLast: chunk.isLast, isCompressed: true, into: &buffer) }
        }
    }

    /// Control frames are never compressed (RFC 7692 §6.1).
    mutating func writeControl(_ opcode: Opcode, _ payload: [UInt8], into buffer: inout ByteBuffer) {
        payload.withUnsafeBytes { writeFrame(opcode, $0, isFinal: true, isCompressed: false, into: &buffer) }
    }

    private mutating func writeMessage(_ opcode: Opcode, _ bytes: UnsafeRawBufferPointer, into buffer: inout ByteBuffer) {
        guard let deflater, bytes.count >= threshold else {
            return writeFrame(opcode, bytes, isFinal: true, isCompressed: false, into: &buffer)
        }
        var output: [UInt8] = []
        swap(&output, &compressed)
        output.removeAll(keepingCapacity: true)
        deflater.deflate(bytes, isLast: true, into: &output)
        output.withUnsafeBytes { writeFrame(opcode, $0, isFinal: true, isCompressed: true, into: &buffer) }
        // One huge message must not pin its size for the connection's life.
        if output.capacity <= 1 << 17 { swap(&output, &compressed) }
    }

    private mutating func writePiece(_ bytes: UnsafeRawBufferPointer, isLast: Bool, isCompressed: Bool, into buffer: inout ByteBuffer) {
        // RFC 7692 §6.1: only a message's first frame carries RSV1.
        writeFrame(opening ?? .continuation, bytes, isFinal: isLast, isCompressed: isCompressed && opening != nil, into: &buffer)
        opening = nil
    }

    private mutating func writeFrame(
        _ opcode: Opcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool, isCompressed: Bool, into buffer: inout ByteBuffer
    ) {
        let mask = role == .client ? keys.next() : nil
        let header = FrameHeader(opcode, isFinal: isFinal, isCompressed: isCompressed, mask: mask, payloadLength: payload.count)
        let headerLength = header.length
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: headerLength + payload.count) { space in
            header.write(to: space)
            let body = UnsafeMutableRawBufferPointer(rebasing: space[headerLength..<headerLength + payload.count])
            if let mask { mask.copy(payload, to: body) } else { body.copyMemory(from: payload) }
            return headerLength + payload.count
        }
    }
}
