import NIOCore

/// Reads into the one buffer that all connections of an event loop share, so that an idle one holds none.
///
/// A channel has to ask for one message per read: then its own pool keeps nothing of what it gets here. But for the first buffer,
/// which it never lets go of: that is a small one, enough for most handshakes.
struct SharedReadAllocator: RecvByteBufferAllocator {
    let local: LoopLocal
    /// Reads little, into buffers that nobody shares: for those who may read without end before they are heard.
    var isSmall = false
    /// Whether the pool keeps no more of what it gets.
    var isPoolFull = false
    /// Where the reads of a connection with long frames go.
    var longInput: LongInput?

    private static let firstCapacity = 256
    private static let smallCapacity = 16 * 1024

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        guard isPoolFull else { return allocator.buffer(capacity: Self.firstCapacity) }
        if isSmall { return allocator.buffer(capacity: Self.smallCapacity) }
        return longInput?.lend(local) ?? local.takeInput()
    }

    /// Nil keeps the channel's pool from reusing what it had before.
    func nextBufferSize() -> Int? { nil }

    /// True says that the next buffer may be another.
    mutating func record(actualReadBytes: Int) -> Bool {
        isPoolFull = true
        return true
    }
}
