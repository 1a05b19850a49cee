import CZlib

/// zlib's own record of a stream, which points back at itself and so stays at one address, on the heap.
typealias ZlibStream = UnsafeMutablePointer<z_stream>

extension ZlibStream {
    /// The most bytes that zlib is given at once; it counts with 32 bits.
    static let most = 1 << 30

    /// A stream that `open` has made ready.
    static func make(_ open: (ZlibStream) -> CInt) -> ZlibStream {
        let stream = ZlibStream.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = open(stream)
        precondition(status == Z_OK, "zlib refuses to work (\(status)): no memory, or another version than it was built for")
        return stream
    }

    /// Gives back the stream, which zlib has let go of.
    func free() {
        deinitialize(count: 1)
        deallocate()
    }

    /// Takes one step, after which `input` is what zlib has not used and `room` what it has not filled.
    func step(
        _ input: inout UnsafeRawBufferPointer, into room: inout UnsafeMutableRawBufferPointer, _ step: (ZlibStream) -> CInt
    ) -> CInt {
        let (given, offered) = (Swift.min(input.count, Self.most), Swift.min(room.count, Self.most))
        pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        pointee.avail_in = UInt32(given)
        pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        pointee.avail_out = UInt32(offered)
        let status = step(self)
        input = UnsafeRawBufferPointer(rebasing: input[(given - Int(pointee.avail_in))...])
        room = UnsafeMutableRawBufferPointer(rebasing: room[(offered - Int(pointee.avail_out))...])
        return status
    }
}
