package import NIOCore
package import WebSocketCore
import WebSocketRuntime

/// Encodes messages as frames at the end of a buffer: compressed if that was negotiated, and masked in the role of the client.
struct FrameWriter {
    private let deflater: (any MessageDeflater)?
    private let compressedFrom: Int
    private let keys: MaskKeySource?
    /// The opcode of the message that is being sent in pieces, until its first frame was written.
    private var opening: Opcode?

    /// - Parameter threshold: Messages of fewer bytes are not compressed.
    init(role: Role, deflater: (any MessageDeflater)?, threshold: Int) {
        (self.deflater, compressedFrom) = (deflater, deflater == nil ? .max : threshold)
        keys = MaskKeySource(for: role)
    }

    /// The minimum size in bytes of messages to compress; nil compresses none.
    var compressionThreshold: Int? { deflater == nil ? nil : compressedFrom }

    func compresses(_ count: Int) -> Bool { count >= compressedFrom }

    /// Whether a payload of this size is changed on the way out: compressed or masked.
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
            // The compressor may hold a piece back; a frame without payload would be useless.
            guard chunk.isLast || !compressed.isEmpty else { return }
            compressed.withUnsafeBytes { writePiece($0, isLast: chunk.isLast, isCompressed: true, into: &buffer) }
        }
    }

    /// Control frames are never compressed (RFC 7692 §6.1).
    mutating func writeControl(_ opcode: Opcode, _ payload: [UInt8], into buffer: inout FrameBuffer) {
        payload.withUnsafeBytes { buffer.writeFrame(header(opcode, payloadLength: $0.count), $0) }
    }

    /// Creates the header of a frame to be written now; its mask key, if any, is used only once.
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

/// Encodes small messages as frames when they are accepted, on the sender's thread.
///
/// Large messages wait unencoded, and so do those to be compressed, because the event loop of the connection compresses in their order.
///
/// SAFETY: used only under the lock of the queue that it belongs to.
final class FrameEncoder: OutboundEncoder, @unchecked Sendable {
    /// The maximum size; larger messages are written in parts, directly from their storage.
    static let largest = 16 * 1024

    private let limit: Int
    private let keys: MaskKeySource?
    private let local: LoopLocal
    @exclusivity(unchecked) private var frames = FrameBuffer()
    /// The number and the total size of the messages in the frames.
    @exclusivity(unchecked) private(set) var messages = 0
    @exclusivity(unchecked) private(set) var payload = 0

    /// - Parameter threshold: Messages of at least this many bytes are to be compressed; nil compresses none.
    init(role: Role, threshold: Int?, local: LoopLocal) {
        limit = min(Self.largest, (threshold ?? .max) - 1)
        keys = MaskKeySource(for: role)
        self.local = local
    }

    var byteCount: Int { frames.count }

    func encode(_ message: Message) -> Bool {
        let (opcode, limit) = (message.opcode, limit)
        return message.withBytes { payload in
            guard payload.count <= limit else { return false }
            if !frames.hasMemory { frames = local.takeOutput() }
            frames.writeFrame(FrameHeader(opcode, mask: keys?.next(), payloadLength: payload.count), payload)
            messages &+= 1
            self.payload &+= payload.count
            return true
        }
    }

    func discard() { _ = take() }

    /// Removes and returns the encoded frames.
    func take() -> FrameBuffer {
        defer { (frames, messages, payload) = (FrameBuffer(), 0, 0) }
        return frames
    }
}

extension MaskKeySource {
    /// RFC 6455 §5.1: a client masks, a server does not.
    convenience init?(for role: Role) {
        guard role == .client else { return nil }
        var generator = SystemRandomNumberGenerator()
        self.init(using: &generator)
    }
}

/// A buffer that is being filled with frames.
///
/// It is filled through a pointer: the checks of a `ByteBuffer` on every write would cost more than a small frame.
struct FrameBuffer {
    private var buffer = ByteBuffer()
    /// The memory of `buffer`, which does not know about the written bytes yet.
    ///
    /// SAFETY: this buffer has no other owner, so its memory does not move until the buffer itself changes.
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// Bytes written so far.
    private(set) var count = 0

    /// Creates a buffer without memory.
    init() {}

    /// Creates a buffer from an empty one that has no other owner.
    init(_ buffer: ByteBuffer) {
        self.buffer = buffer
        findMemory()
    }

    var isEmpty: Bool { count == 0 }
    var hasMemory: Bool { memory.baseAddress != nil }

    /// Appends a frame; the payload is masked if the header has a key.
    @inline(__always)
    mutating func writeFrame(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        let start = room(for: FrameHeader.maximumLength &+ payload.count)
        let body = start + header.write(at: start)
        if let mask = header.mask {
            mask.copy(payload, to: UnsafeMutableRawBufferPointer(start: body, count: payload.count))
        } else if let bytes = payload.baseAddress {
            body.copyMemory(from: bytes, byteCount: payload.count)
        }
        count &+= body - start &+ payload.count
    }

    /// Appends a header; the payload must follow.
    mutating func writeHeader(_ header: FrameHeader) { count += header.write(at: room(for: FrameHeader.maximumLength)) }

    /// Appends a part of a payload; `phase` is the number of payload bytes before it.
    mutating func writePayload(_ part: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int) {
        let body = UnsafeMutableRawBufferPointer(start: room(for: part.count), count: part.count)
        if let mask { mask.copy(part, to: body, phase: phase) } else { body.copyMemory(from: part) }
        count += part.count
    }

    /// Appends complete frames.
    mutating func write(_ frames: ByteBuffer) {
        frames.withUnsafeReadableBytes { writePayload($0, mask: nil, phase: 0) }
    }

    /// Removes and returns everything that was written.
    mutating func take() -> ByteBuffer {
        var taken = FrameBuffer()
        swap(&taken, &self)
        taken.buffer.moveWriterIndex(to: taken.count)
        return taken.buffer
    }

    /// Returns the place of the next bytes, with room for `length` of them.
    @inline(__always)
    private mutating func room(for length: Int) -> UnsafeMutableRawPointer {
        if memory.count &- count < length || memory.baseAddress == nil { makeRoom(for: length) }
        return memory.baseAddress.unsafelyUnwrapped + count
    }

    @inline(never)
    private mutating func makeRoom(for length: Int) {
        buffer.moveWriterIndex(to: count)
        buffer.reserveCapacity(max(count + length, 2 * memory.count, 2048))
        buffer.moveWriterIndex(to: 0)
        findMemory()
    }

    private mutating func findMemory() {
        memory = buffer.withUnsafeMutableWritableBytes { $0 }
    }
}

/// A long message that is written in parts, so that it is never copied as a whole.
struct LongFrame {
    private var message: Message
    private let mask: MaskKey?
    private var sent = 0

    /// Begins a message by writing its header to `buffer`.
    init(_ message: Message, header: FrameHeader, into buffer: inout FrameBuffer) {
        (self.message, mask) = (message.contiguous, header.mask)
        buffer.writeHeader(header)
    }

    /// Appends the next part, at most `limit` bytes; returns true if it was the last one.
    mutating func write(upTo limit: Int, into buffer: inout FrameBuffer) -> Bool {
        message.withBytes { bytes in
            let part = UnsafeRawBufferPointer(rebasing: bytes[sent...].prefix(limit))
            buffer.writePayload(part, mask: mask, phase: sent)
            sent += part.count
            return sent == bytes.count
        }
    }

    /// Returns empty storage with the capacity of the message's, reused if the message has no other owner.
    mutating func takeStorage() -> [UInt8] {
        guard case .binary(var storage) = message else { return [] }
        message = .binary([])
        storage.removeAll(keepingCapacity: true)
        return storage
    }
}

extension Message {
    /// The message with its text as contiguous UTF-8, so that access to parts of it is cheap.
    fileprivate var contiguous: Message {
        guard case .text(var text) = self else { return self }
        text.makeContiguousUTF8()
        return .text(text)
    }
}

/// A message for many sockets: its frame is encoded once, and all sockets that neither mask nor compress write the same bytes.
///
/// Use one per event loop: threads that count the references of the same buffer slow each other down.
package struct SharedMessage: Sendable {
    package let kind: MessageKind
    /// The complete frame, neither masked nor compressed.
    let frame: ByteBuffer
    /// The size of the message in bytes, without the header.
    package let byteCount: Int

    /// Creates a message; a text must be UTF-8.
    package init(_ kind: MessageKind, _ payload: [UInt8]) {
        let header = FrameHeader(kind == .text ? .text : .binary, payloadLength: payload.count)
        var frame = ByteBufferAllocator().buffer(capacity: FrameHeader.maximumLength + payload.count)
        frame.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.maximumLength) { bytes in
            bytes.baseAddress.map { header.write(at: $0) } ?? 0
        }
        frame.writeBytes(payload)
        (self.kind, self.frame, byteCount) = (kind, frame, payload.count)
    }

    /// The payload of the message.
    package var payload: ByteBufferView { frame.viewBytes(at: frame.writerIndex - byteCount, length: byteCount) ?? ByteBufferView() }
}
