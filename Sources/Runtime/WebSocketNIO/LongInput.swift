import NIOCore
import WebSocketCore
import WebSocketRuntime

/// The buffer into which a connection reads the rest of a long frame, directly behind the bytes that have arrived, to avoid copies.
///
/// The next reads also go to a buffer of their own, limited to frames of the same length, because long frames often follow each other. Between
/// reads, only an unfinished frame holds memory.
///
/// SAFETY: used on the event loop only; an allocator must be `Sendable`.
final class LongInput: @unchecked Sendable {
    /// The bytes of a frame that have arrived, with its header, while the channel does not have the buffer.
    @exclusivity(unchecked) private var buffer: ByteBuffer?
    /// The size of the frame in bytes, or of those to come.
    @exclusivity(unchecked) private var length = 0
    /// Whether a frame is unfinished.
    @exclusivity(unchecked) private(set) var isOpen = false
    /// Whether the channel reads into a buffer from here.
    @exclusivity(unchecked) private(set) var isLent = false

    /// The range of frame lengths that get a buffer of their own.
    static let lengths = 16 * 1024...1 << 30
    /// A peer may lie about a length, so memory is reserved only up to this size, or four times what has arrived.
    private static let believed = 1 << 20

    /// Returns the capacity for the first `count` bytes of a frame and for some of the rest.
    static func room(for count: Int, of length: Int) -> Int { min(length, max(believed, 4 * count)) }

    /// Begins a frame with the bytes in `buffer`.
    func open(_ buffer: ByteBuffer, length: Int) { (self.buffer, self.length, isOpen) = (buffer, length, true) }

    /// Returns a buffer to read into; nil if an ordinary buffer will do.
    func lend(_ local: LoopLocal) -> ByteBuffer? {
        guard isOpen || length > 0 else { return nil }
        guard isOpen else {
            isLent = true
            let most = max(1, LoopLocal.inputCapacity / length) * length
            return Self.limit(local.takeLongInput(Self.room(for: 0, of: most)), to: most)
        }
        guard var lent = buffer.take() else {
            isLent = false  // The buffer lent before was never returned.
            return nil
        }
        isLent = true
        // A channel treats a buffer without room as a full one.
        if lent.writableBytes == 0 { lent.reserveCapacity(Self.room(for: lent.readableBytes, of: length)) }
        return Self.limit(lent, to: length)
    }

    /// Takes the bytes of the frame that have arrived, to append what was read elsewhere; nil if they are gone.
    func takeHeld() -> ByteBuffer? { buffer.take() }

    /// Takes a lent buffer back; returns nil if the frame in it is still unfinished.
    func takeBack(_ lent: ByteBuffer) -> ByteBuffer? {
        isLent = false
        if isOpen, lent.readableBytes < length {
            buffer = lent
            return nil
        }
        // A short read means that no more long frames follow.
        if !isOpen, lent.readableBytes < Self.lengths.lowerBound { length = 0 }
        isOpen = false
        return lent
    }

    /// Returns the buffer with a total capacity of `length` bytes, if it has more.
    private static func limit(_ buffer: consuming ByteBuffer, to length: Int) -> ByteBuffer {
        guard buffer.capacity > length else { return buffer }
        let written = buffer.writerIndex
        buffer.moveWriterIndex(to: length)
        guard var limited = buffer.getSlice(at: 0, length: length) else { return buffer }
        limited.moveWriterIndex(to: written)
        return limited
    }
}

/// Long frames for an inline handler: they are read completely into one buffer, and lent from there.
extension WebSocketHandler {
    /// Returns the length of the unfinished frame at the start of `bytes`, if it deserves a buffer of its own.
    func lengthOfUnfinished(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard sharesReads, inline != nil, let length = reader.lengthOfLone(bytes) else { return nil }
        return length > bytes.count && LongInput.lengths.contains(length) ? length : nil
    }

    /// Continues to read behind the first bytes of a long frame.
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

    /// Handles bytes that were read for long frames.
    func readLong(_ bytes: ByteBuffer, _ longInput: LongInput) {
        var bytes = bytes
        if !longInput.isLent {
            // A channel drops a borrowed buffer if there is nothing to read after all. It only reads when data is readable, so this does
            // not happen.
            guard var held = longInput.takeHeld() else {
                return abort(TransportError(.lost, "the link failed: the received part of a message was lost"))
            }
            // A client's channel may read once more into the buffer of the handshake.
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
        // The connection shares reads, so its channel has accepted such an allocator before.
        let allocator = SharedReadAllocator(local: local, isPoolFull: true, longInput: new)
        try? context?.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
        return new
    }
}

/// Memory of finished long messages, kept for later ones.
///
/// Used memory is cheaper than new memory. The newest is reused first.
struct MemoryPool<Memory> {
    private static var mostBytes: Int { 8 << 20 }
    private static var mostCount: Int { 16 }
    private var kept: [(memory: Memory, bytes: Int)] = []

    /// Keeps memory of this size; the oldest may be dropped for it.
    mutating func give(_ memory: consuming Memory, bytes: Int) {
        guard bytes > 0, bytes <= Self.mostBytes else { return }
        var total = kept.reduce(bytes) { $0 + $1.bytes }
        while !kept.isEmpty, total > Self.mostBytes || kept.count == Self.mostCount { total -= kept.removeFirst().bytes }
        kept.append((memory, bytes))
    }

    /// Returns memory in the given size range, if some is ready for reuse.
    mutating func take(_ bytes: ClosedRange<Int>, ifReady isReady: (inout Memory) -> Bool = { _ in true }) -> Memory? {
        for index in kept.indices.reversed() where bytes.contains(kept[index].bytes) {
            if isReady(&kept[index].memory) { return kept.remove(at: index).memory }
        }
        return nil
    }
}
