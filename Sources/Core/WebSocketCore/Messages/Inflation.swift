/// Unmasks compressed payloads and passes them to the inflater.
///
/// It holds no buffer between messages, because most connections are idle.
struct Inflation {
    /// The maximum number of bytes that are unmasked at once.
    static let pieceLength = 8192
    /// The range of the initial buffer size for a message.
    ///
    /// The smallest is allocated on the stack.
    static let rooms = 1024...256 * 1024

    private let inflater: any MessageInflater
    /// The buffer size that fits the next message if it is similar to the previous ones.
    private(set) var typicalRoom = Self.rooms.lowerBound

    init(_ inflater: any MessageInflater) { self.inflater = inflater }

    /// Inflates a message whose payload is complete.
    ///
    /// The buffer passed to `body` is valid until `body` returns.
    ///
    /// The memory is temporary. Nothing is copied if the message fits into the typical buffer size.
    mutating func withWhole<Result>(
        _ payload: UnsafeRawBufferPointer, mask: MaskKey?, limit: Int,
        _ body: (UnsafeRawBufferPointer) throws(ProtocolViolation) -> Result
    ) throws(ProtocolViolation) -> Result {
        // One byte more than the limit, to detect that it is exceeded.
        let length = typicalRoom > limit ? limit + 1 : typicalRoom
        return unsafe try withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { room throws(ProtocolViolation) in
            var (free, longer) = unsafe (room, [] as [UInt8])
            try unsafe withPieces(of: payload, mask: mask, hasTail: true) { piece, isLast throws(ProtocolViolation) in
                if unsafe !free.isEmpty {
                    try unsafe inflater.inflate(&piece, isLast: isLast, into: &free)
                    guard unsafe free.isEmpty else { return }
                    guard length <= limit else { throw ProtocolViolation.inflatedTooBig }
                    unsafe longer.append(contentsOf: UnsafeRawBufferPointer(room))
                }
                try unsafe inflater.inflate(all: &piece, isLast: isLast, into: &longer, upTo: limit)
            }
            learn(max(length - free.count, longer.count))
            guard longer.isEmpty else {
                return try unsafe longer.withUnsafeBufferPointer { bytes throws(ProtocolViolation) in
                    try unsafe body(UnsafeRawBufferPointer(bytes))
                }
            }
            return try unsafe body(UnsafeRawBufferPointer(rebasing: room[..<(length - free.count)]))
        }
    }

    /// Inflates the next piece of a message's payload and appends the output.
    func inflate(
        _ payload: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int, into output: inout [UInt8], limit: Int
    ) throws(ProtocolViolation) {
        guard mask != nil else { return try unsafe inflater.inflate(payload, into: &output, limit: limit) }
        let start = output.count
        try unsafe withPieces(of: payload, mask: mask, phase: phase) { piece, _ throws(ProtocolViolation) in
            try unsafe inflater.inflate(UnsafeRawBufferPointer(piece), into: &output, limit: limit - (output.count - start))
        }
    }

    /// Ends a message that arrived in pieces.
    func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        try inflater.finish(into: &output, limit: limit)
    }

    /// Calls `body` with unmasked copies of the payload's pieces.
    ///
    /// If `hasTail`, the last piece ends with the tail. That is cheaper than a separate call for the tail.
    private func withPieces(
        of payload: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int = 0, hasTail: Bool = false,
        _ body: (_ piece: inout UnsafeRawBufferPointer, _ isLast: Bool) throws(ProtocolViolation) -> Void
    ) throws(ProtocolViolation) {
        let length = min(payload.count, Self.pieceLength) + DeflateTail.length
        try unsafe withUnsafeTemporaryAllocation(byteCount: length, alignment: 16) { copy throws(ProtocolViolation) in
            var offset = 0
            repeat {
                let source = unsafe UnsafeRawBufferPointer(rebasing: payload[offset...].prefix(Self.pieceLength))
                unsafe source.copy(to: copy, mask: mask, phase: phase + offset)
                offset += source.count
                let isLast = offset == payload.count
                if isLast { unsafe copy.storeBytes(of: DeflateTail.bytes, toByteOffset: source.count, as: UInt32.self) }
                let count = source.count + (isLast && hasTail ? DeflateTail.length : 0)
                var piece = unsafe UnsafeRawBufferPointer(rebasing: copy[..<count])
                try unsafe body(&piece, isLast)
            } while offset < payload.count
        }
    }

    /// Updates the typical buffer size: a little more than the longest recent message.
    ///
    /// zlib is slower if less room than its longest match, 258 bytes, is left.
    private mutating func learn(_ count: Int) {
        let needed = count > Self.rooms.upperBound ? Self.rooms.upperBound : count + count / 4 + 258
        typicalRoom = min(max(needed, typicalRoom - typicalRoom / 8, Self.rooms.lowerBound), Self.rooms.upperBound)
    }
}

/// Decompresses the messages of one direction of one connection, in order (RFC 7692 §7.2.2).
public protocol MessageInflater: AnyObject {
    /// Inflates a piece of one message into `room` as far as possible. Both buffers advance past the used bytes.
    ///
    /// If room is left, all of `input` was used, and with `isLast` the message has ended. If none is left, more output may follow: the call
    /// is repeated with new room and the rest of the input, which may be empty. `room` is never empty at the start of a call. The last
    /// piece of a message ends with the whole tail `00 00 FF FF` that the sender removed (§7.2.2). Throws `invalidCompressedData` for a
    /// corrupt stream, and for a message that ends inside a block.
    func inflate(
        _ input: inout UnsafeRawBufferPointer, isLast: Bool, into room: inout UnsafeMutableRawBufferPointer
    ) throws(ProtocolViolation)
}

extension MessageInflater {
    /// Inflates a piece of one message, without the final tail, and appends the output.
    ///
    /// Throws `messageTooBig` instead of appending more than `limit` bytes in this call, and `invalidCompressedData` for a corrupt stream.
    /// The array grows only with the actual output, whatever size the stream claims.
    public func inflate(_ input: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        var rest = unsafe input
        try unsafe inflate(all: &rest, isLast: false, into: &output, upTo: output.end(after: limit))
    }

    /// Ends the message: feeds `00 00 FF FF` (RFC 7692 §7.2.2), and resets the context without context takeover.
    ///
    /// Throws as ``inflate(_:into:limit:)`` does, and `invalidCompressedData` if the message ends inside a block.
    public func finish(into output: inout [UInt8], limit: Int) throws(ProtocolViolation) {
        let end = output.end(after: limit)
        try unsafe withUnsafeBytes(of: DeflateTail.bytes) { tail throws(ProtocolViolation) in
            var rest = unsafe tail
            try unsafe inflate(all: &rest, isLast: true, into: &output, upTo: end)
        }
    }

    /// Inflates all of `input`, until `output` has at most `end` bytes.
    ///
    /// Copying from a temporary buffer is cheaper than zeroing room in the array.
    func inflate(
        all input: inout UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8], upTo end: Int
    ) throws(ProtocolViolation) {
        // Text often compresses to a quarter. Up to 1 KiB is allocated on the stack.
        var size = input.count <= 256 ? 1024 : 16 * 1024
        while true {
            // One byte more than the limit, to detect that it is exceeded.
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

/// The end of every compressed message, which senders remove (RFC 7692 §7.2.1).
enum DeflateTail {
    static let length = 4
    static var bytes: UInt32 { UInt32(0x0000_FFFF).bigEndian }
}

extension ProtocolViolation {
    static var inflatedTooBig: ProtocolViolation {
        ProtocolViolation(.messageTooBig, "a compressed message is longer than allowed after decompression (limits.message)")
    }
}

extension [UInt8] {
    /// Returns the maximum size of the array after appending at most `limit` bytes.
    fileprivate func end(after limit: Int) -> Int { limit > Int.max - count ? Int.max : count + Swift.max(limit, 0) }
}

/// Compresses the messages of one direction of one connection, in order (RFC 7692 §7.2.1).
public protocol MessageDeflater: AnyObject {
    /// Compresses a piece of one message and appends the output.
    ///
    /// With `isLast` it flushes, removes the tail `00 00 FF FF`, and resets the context without context takeover.
    func deflate(_ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8])
}
