import NIOCore

/// Reads into the one buffer that all connections of an event loop share, so that an idle one holds none.
///
/// A channel has to ask for one message per read: then its own pool keeps nothing of what it gets here.
struct SharedReadAllocator: RecvByteBufferAllocator {
    let local: LoopLocal

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { local.takeInput() }

    /// Nil keeps the channel's pool from reusing what it had before.
    func nextBufferSize() -> Int? { nil }

    /// True says that the next buffer may be another.
    mutating func record(actualReadBytes: Int) -> Bool { true }
}
