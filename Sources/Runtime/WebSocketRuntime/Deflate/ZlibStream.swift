import CZlib

/// zlib's own record of a stream, which points back at itself and so stays at one address, on the heap.
typealias ZlibStream = UnsafeMutablePointer<z_stream>

extension ZlibStream {
    /// Room that is taken from the stack: enough for the messages that are most frequent.
    static let smallRoom = 1024
    /// Room for the rest of a longer message, taken as often as needed.
    static let largeRoom = 16 * 1024

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

    /// Puts the input in place; it must stay valid until zlib has used it up.
    func setInput(_ input: UnsafeRawBufferPointer) {
        pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        pointee.avail_in = UInt32(input.count)
    }

    /// Takes one step and appends what comes out, at most `room` bytes.
    ///
    /// The copy costs less than to clear room in the array would, and the array grows by what came out only.
    func step(into output: inout [UInt8], room: Int, _ step: (ZlibStream) -> CInt) -> CInt {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { buffer in
            (pointee.next_out, pointee.avail_out) = (buffer.baseAddress, UInt32(room))
            let status = step(self)
            output.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<(room - Int(pointee.avail_out))]))
            return status
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Removes and returns as many bytes as zlib can count, or all that are left.
    mutating func takeZlibPart() -> UnsafeRawBufferPointer {
        let part = UnsafeRawBufferPointer(rebasing: prefix(1 << 30))
        self = UnsafeRawBufferPointer(rebasing: dropFirst(1 << 30))
        return part
    }
}
