/// Decompresses the messages of one direction of one connection, in order (RFC 7692 §7.2.2).
public protocol MessageInflater: AnyObject {
    /// Inflates a piece of one message into `room`, as far as that goes; both move on past what was used of them.
    ///
    /// If room is left, all of `input` is used, and with `isLast` the message has ended. If none is left, more may come out: the call
    /// is repeated with new room and the rest of the input, which may be empty. `room` is never empty when the call is made.
    /// The last piece of a message ends with the whole tail `00 00 FF FF` that its sender left out (§7.2.2).
    /// Throws `invalidCompressedData` for a bad stream, and for a message that ends inside a block.
    func inflate(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation)
}

extension MessageInflater {
    /// Inflates a piece of one message, not the tail of its last one, and appends what comes out to `output`.
    ///
    /// Throws `messageTooBig` instead of appending more than `limit` bytes in this call, and `invalidCompressedData` for a bad stream.
    /// The array grows only as bytes come out, whatever the stream may promise.
    public func inflate(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        var rest = unsafe input
        try unsafe inflate(all: &rest, isLast: false, into: &output, upTo: output.end(after: limit))
    }

    /// Ends the message: feeds `00 00 FF FF` (RFC 7692 §7.2.2) and forgets the context when takeover is off.
    ///
    /// Throws as ``inflate(_:into:limit:)`` does, and `invalidCompressedData` if the message ends inside a block.
    public func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        let end = output.end(after: limit)
        try unsafe withUnsafeBytes(of: DeflateTail.bytes) { tail throws(ProtocolViolation) in
            var rest = unsafe tail
            try unsafe inflate(all: &rest, isLast: true, into: &output, upTo: end)
        }
    }

    /// Inflates all of `input`; there may be `end` bytes in `output` then, and no more.
    ///
    /// The copy out of the room costs less than to clear room in the array would.
    func inflate(
        all input: inout UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8], upTo end: Int
    ) throws(ProtocolViolation) {
        // Text often shrinks to a quarter. Up to 1 KiB is taken from the stack.
        var size = input.count <= 256 ? 1024 : 16 * 1024
        while true {
            // At most one byte more than allowed, to see whether there is one.
            let left = end - output.count
            let length = size > left ? left + 1 : size
            let isFull = unsafe try withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { room throws(ProtocolViolation) in
                var free = unsafe room
                defer { unsafe output.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<min(length - free.count, left)])) }
                try unsafe inflate(&input, isLast: isLast, into: &free)
                return unsafe free.isEmpty
            }
            guard isFull else { return }
            guard length <= left else { throw ProtocolViolation.inflatedTooBig }
            size = 16 * 1024
        }
    }
}

/// What every compressed message ends with, and no sender sends (RFC 7692 §7.2.1).
enum DeflateTail {
    static let length = 4
    static var bytes: UInt32 { UInt32(0x0000_FFFF).bigEndian }
}

extension ProtocolViolation {
    static var inflatedTooBig: ProtocolViolation {
        ProtocolViolation(.messageTooBig, "a compressed message grows beyond what is allowed (limits.message)")
    }
}

extension [UInt8] {
    /// How many bytes there may be once `limit` more have been appended.
    fileprivate func end(after limit: Int) -> Int { limit > Int.max - count ? Int.max : count + Swift.max(limit, 0) }
}
