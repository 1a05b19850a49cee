import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Where a connection reads to in the middle of a long frame: straight behind what has come of it, so that nothing is copied.
///
/// The reads after it go to a place of their own as well, and no further than a frame of the same length, for long frames come
/// in rows. Between reads only an unfinished frame holds memory.
///
/// SAFETY: used on the event loop only; an allocator has to be `Sendable`.
final class LongInput: @unchecked Sendable {
    /// What has come of a frame, header and all, while the channel does not have it.
    @exclusivity(unchecked) private var buffer: ByteBuffer?
    /// How many bytes the frame takes, or those to come.
    @exclusivity(unchecked) private var length = 0
    /// In the middle of a frame.
    @exclusivity(unchecked) private(set) var isOpen = false
    /// The channel reads into a buffer from here.
    @exclusivity(unchecked) private(set) var isLent = false

    /// Shorter frames are not worth a place of their own, and a buffer holds no longer ones.
    static let lengths = 16 * 1024...1 << 30
    /// A peer may lie about a length: so much of it is believed, or four times what has come.
    private static let believed = 1 << 20

    /// Room for the first `count` bytes of a frame and for some of the rest.
    static func room(for count: Int, of length: Int) -> Int { min(length, max(believed, 4 * count)) }

    /// Begins a frame with the bytes in `buffer`.
    func open(_ buffer: ByteBuffer, length: Int) { (self.buffer, self.length, isOpen) = (buffer, length, true) }

    /// A buffer to read into; nil if one read is like another.
    func lend(_ local: LoopLocal) -> ByteBuffer? {
        guard isOpen || length > 0 else { return nil }
        guard isOpen else {
            isLent = true
            let most = max(1, LoopLocal.inputCapacity / length) * length
            return Self.limit(local.takeLongInput(Self.room(for: 0, of: most)), to: most)
        }
        guard var lent = buffer.take() else {
            isLent = false  // What was lent before never came back.
            return nil
        }
        isLent = true
        // A channel takes a buffer without room for one that is full.
        if lent.writableBytes == 0 { lent.reserveCapacity(Self.room(for: lent.readableBytes, of: length)) }
        return Self.limit(lent, to: length)
    }

    /// What has come of the frame, to be followed by what was read elsewhere; nil if it is gone.
    func takeHeld() -> ByteBuffer? { buffer.take() }

    /// A lent buffer comes back; nil if the frame in it is still unfinished.
    func takeBack(_ lent: ByteBuffer) -> ByteBuffer? {
        isLent = false
        if isOpen, lent.readableBytes < length {
            buffer = lent
            return nil
        }
        // A short read says that the long frames are over.
        if !isOpen, lent.readableBytes < Self.lengths.lowerBound { length = 0 }
        isOpen = false
        return lent
    }

    /// Itself, with room for `length` bytes in all, if there is room for more.
    private static func limit(_ buffer: consuming ByteBuffer, to length: Int) -> ByteBuffer {
        guard buffer.capacity > length else { return buffer }
        let written = buffer.writerIndex
        buffer.moveWriterIndex(to: length)
        guard var limited = buffer.getSlice(at: 0, length: length) else { return buffer }
        limited.moveWriterIndex(to: written)
        return limited
    }
}

/// Long frames for an inline handler: read to their end into one buffer, and lent from there.
extension WebSocketHandler {
    /// The length of the frame that `bytes` begin and do not end, if it is worth a buffer of its own.
    func lengthOfUnfinished(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard sharesReads, inline != nil, let length = reader.lengthOfLone(bytes) else { return nil }
        return length > bytes.count && LongInput.lengths.contains(length) ? length : nil
    }

    /// Reads on behind the first bytes of a long frame.
    func begin(_ length: Int, with bytes: inout ByteBuffer, isShared: Bool) {
        let longInput = longInput ?? makeLongInput()
        if !isShared, bytes.readerIndex == 0 {
            longInput.open(bytes, length: length)
            bytes = ByteBuffer()
        } else {
            var buffer = local.takeLongInput(LongInput.room(for: bytes.readableBytes, of: length))
            buffer.writeImmutableBuffer(bytes)
            longInput.open(buffer, length: length)
        }
    }

    /// What was read for long frames.
    func readLong(_ bytes: ByteBuffer, _ longInput: LongInput) {
        var bytes = bytes
        if !longInput.isLent {
            // A channel throws away what it has borrowed if there is nothing to read after all. It reads what is said to be
            // readable, so it does not come to that.
            guard var held = longInput.takeHeld() else {
                return abort(TransportError(.lost, "the link failed: what was read of a message is gone"))
            }
            // A client's channel may read once more into the buffer that the handshake came in.
            held.writeImmutableBuffer(bytes)
            bytes = held
        }
        guard var whole = longInput.takeBack(bytes) else { return }
        take(&whole, isShared: false)
        local.give(longInput: whole)
    }

    private func makeLongInput() -> LongInput {
        let new = LongInput()
        longInput = new
        // It shares reads, so its channel has taken such an allocator before.
        let allocator = SharedReadAllocator(local: local, isPoolFull: true, longInput: new)
        try? context?.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
        return new
    }
}

/// Memory of long messages that are over, kept for some to come.
///
/// Memory in use before is cheaper than new. The newest is used first.
struct Spares<Memory> {
    private static var mostBytes: Int { 8 << 20 }
    private static var mostCount: Int { 16 }
    private var kept: [(memory: Memory, bytes: Int)] = []

    /// Keeps some memory of this size; what was kept longest may have to go for it.
    mutating func give(_ memory: consuming Memory, bytes: Int) {
        guard bytes > 0, bytes <= Self.mostBytes else { return }
        var total = kept.reduce(bytes) { $0 + $1.bytes }
        while !kept.isEmpty, total > Self.mostBytes || kept.count == Self.mostCount { total -= kept.removeFirst().bytes }
        kept.append((memory, bytes))
    }

    /// Hands out memory of such a size, if there is some that is ready for use.
    mutating func take(_ bytes: ClosedRange<Int>, ifReady isReady: (inout Memory) -> Bool = { _ in true }) -> Memory? {
        for index in kept.indices.reversed() where bytes.contains(kept[index].bytes) {
            if isReady(&kept[index].memory) { return kept.remove(at: index).memory }
        }
        return nil
    }
}
