import NIOCore
import WebSocketCore

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
