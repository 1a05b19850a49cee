package import NIOCore
package import WebSocketCore
import WebSocketRuntime

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

/// Turns small messages into frames as they are accepted, whichever thread that is on.
///
/// Large ones wait as they are, and so do those to be compressed, for the connection's event loop does that in their order.
///
/// SAFETY: touched only under the lock of the queue that it belongs to.
final class FrameEncoder: OutboundEncoder, @unchecked Sendable {
    /// Messages of more bytes are written in parts, straight from where they are.
    static let largest = 16 * 1024

    private let limit: Int
    private let keys: MaskKeySource?
    private let local: LoopLocal
    @exclusivity(unchecked) private var frames = FrameBuffer()
    /// How many messages there are in the frames, and of how many bytes.
    @exclusivity(unchecked) private(set) var messages = 0
    @exclusivity(unchecked) private(set) var payload = 0

    /// - Parameter threshold: Messages of at least this many bytes are to be compressed; nil: none.
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

    /// Removes what was encoded.
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
/// It is filled through a pointer: the checks that a `ByteBuffer` makes on every write would cost more than a small frame.
struct FrameBuffer {
    private var buffer = ByteBuffer()
    /// The memory of `buffer`, which has nothing in it yet as far as it knows.
    ///
    /// SAFETY: of this buffer nobody else has a part, so its memory stays where it is until the buffer itself changes.
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// Bytes written so far.
    private(set) var count = 0

    /// Without any memory.
    init() {}

    /// Fills an empty buffer that nobody else holds.
    init(_ buffer: ByteBuffer) {
        self.buffer = buffer
        findMemory()
    }

    var isEmpty: Bool { count == 0 }
    var hasMemory: Bool { memory.baseAddress != nil }

    /// Appends a frame; its payload is masked on the way if the header has a key.
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

    /// Appends a header; the payload is to follow.
    mutating func writeHeader(_ header: FrameHeader) { count += header.write(at: room(for: FrameHeader.maximumLength)) }

    /// Appends a part of a payload that `phase` bytes came before.
    mutating func writePayload(_ part: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int) {
        let body = UnsafeMutableRawBufferPointer(start: room(for: part.count), count: part.count)
        if let mask { mask.copy(part, to: body, phase: phase) } else { body.copyMemory(from: part) }
        count += part.count
    }

    /// Appends whole frames.
    mutating func write(_ frames: ByteBuffer) {
        frames.withUnsafeReadableBytes { writePayload($0, mask: nil, phase: 0) }
    }

    /// Removes all that was written.
    mutating func take() -> ByteBuffer {
        var taken = FrameBuffer()
        swap(&taken, &self)
        taken.buffer.moveWriterIndex(to: taken.count)
        return taken.buffer
    }

    /// Where the next bytes go; there is room for `length` of them.
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

/// A long message on its way out, one part after the other, so that no copy of it as a whole is ever made.
struct LongFrame {
    private var message: Message
    private let mask: MaskKey?
    private var sent = 0

    /// Begins with the header in `buffer`.
    init(_ message: Message, header: FrameHeader, into buffer: inout FrameBuffer) {
        (self.message, mask) = (message.contiguous, header.mask)
        buffer.writeHeader(header)
    }

    /// Appends the next part, at most `limit` bytes; true if it was the last.
    mutating func write(upTo limit: Int, into buffer: inout FrameBuffer) -> Bool {
        message.withBytes { bytes in
            let part = UnsafeRawBufferPointer(rebasing: bytes[sent...].prefix(limit))
            buffer.writePayload(part, mask: mask, phase: sent)
            sent += part.count
            return sent == bytes.count
        }
    }

    /// Empty storage as large as that of the message, and the same if nobody else holds the message.
    mutating func takeStorage() -> [UInt8] {
        guard case .binary(var storage) = message else { return [] }
        message = .binary([])
        storage.removeAll(keepingCapacity: true)
        return storage
    }
}

extension Message {
    /// Itself, with its text in one piece of UTF-8, so that looking at a part of it costs nothing.
    fileprivate var contiguous: Message {
        guard case .text(var text) = self else { return self }
        text.makeContiguousUTF8()
        return .text(text)
    }
}

/// A message for many sockets: its frame is made once, and those that neither mask nor compress write the same bytes.
///
/// One for each event loop is best: threads that count the references of one buffer wait for each other.
package struct SharedMessage: Sendable {
    package let kind: MessageKind
    /// A whole frame, neither masked nor compressed.
    let frame: ByteBuffer
    /// How many bytes the message has without its header.
    package let byteCount: Int

    /// A message; a text must be UTF-8.
    package init(_ kind: MessageKind, _ payload: [UInt8]) {
        let header = FrameHeader(kind == .text ? .text : .binary, payloadLength: payload.count)
        var frame = ByteBufferAllocator().buffer(capacity: FrameHeader.maximumLength + payload.count)
        frame.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.maximumLength) { bytes in
            bytes.baseAddress.map { header.write(at: $0) } ?? 0
        }
        frame.writeBytes(payload)
        (self.kind, self.frame, byteCount) = (kind, frame, payload.count)
    }

    /// What it says.
    package var payload: ByteBufferView { frame.viewBytes(at: frame.writerIndex - byteCount, length: byteCount) ?? ByteBufferView() }
}
